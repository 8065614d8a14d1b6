/* SPDX-License-Identifier: MIT
 *
 * Walks a stack through a Mach-O image: its unwind tables, function starts, code, the stack and registers are
 * the input's bytes. Decodes for both CPUs.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch/arch.h"
#include "unwind/macho/arm_code.h"
#include "unwind/macho/innermost.h"
#include "unwind/macho/intel_code.h"
#include "unwind/macho/unwinder_macho.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define BASE UINT64_C(0x104000000)
#define STACK UINT64_C(0x170000000)
#define STACK_BYTES 1024u
#define FRAMES 64u

/* The image: a header with one segment, and sections whose bytes are the input's. */
enum {
    HEADER_AT,
    UNWIND_AT = 0x400,
    FRAME_AT = 0x800,
    STARTS_AT = 0xc00,
    CODE_AT = 0xd00,
    IMAGE_BYTES = 0x1500
};

struct input {
    uint8_t is_raw;   /* the header's bytes are the input's, too */
    uint8_t readable; /* of the image, in units of 32 bytes; 0: all */
    uint8_t stack_words[2];
    uint16_t pc;
    uint16_t offsets[34]; /* registers: odd numbers are in the code, others on the stack */
};

static uint8_t image[IMAGE_BYTES];
static uint8_t stack[STACK_BYTES];
static size_t readable;
static struct hd_modules modules;
static struct hd_unwinder *unwinder;

static int read_image(void *ctx, uint64_t addr, void *dst, size_t n) {
    uint64_t at = addr - BASE;
    (void)ctx;
    if (addr < BASE || at > readable || n > readable - at) {
        return -EFAULT;
    }
    memcpy(dst, image + at, n);
    return 0;
}

static int find_module(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path,
                       size_t path_bytes) {
    (void)m;
    if (pc < BASE || pc >= BASE + IMAGE_BYTES) {
        return -ENOENT;
    }
    memset(out, 0, sizeof *out);
    if (path != NULL && path_bytes > 0) {
        path[0] = 0;
    }
    out->format = HD_IMAGE_MACHO;
    out->lo = out->header = BASE;
    out->hi = BASE + IMAGE_BYTES;
    return 0;
}

static void put_section(struct hd_macho_section *s, const char *name, uint32_t at, uint32_t bytes) {
    memset(s, 0, sizeof *s);
    memcpy(s->name, name, strlen(name));
    memcpy(s->segment, "__TEXT", 6);
    s->address = BASE + at;
    s->bytes = bytes;
    s->offset = at;
}

/* Writes a header with the sections, and the function starts in a segment __LINKEDIT. */
static void put_header(void) {
    struct hd_macho_header header = {
        .magic = HD_MACHO_MAGIC_64, .cpu = HD_ARCH_MACHO_CPU, .file_type = HD_MACHO_DYLIB};
    struct hd_macho_segment text = {.command = HD_LC_SEGMENT_64, .name = "__TEXT", .sections = 4};
    struct hd_macho_segment edit = {.command = HD_LC_SEGMENT_64, .name = "__LINKEDIT"};
    uint32_t starts[] = {HD_LC_FUNCTION_STARTS, 16, STARTS_AT, CODE_AT - STARTS_AT};
    struct hd_macho_section section[4];
    put_section(&section[0], "__unwind_info", UNWIND_AT, FRAME_AT - UNWIND_AT);
    put_section(&section[1], "__eh_frame", FRAME_AT, STARTS_AT - FRAME_AT);
    put_section(&section[2], "__text", CODE_AT, IMAGE_BYTES - CODE_AT);
    put_section(&section[3], "__stubs", IMAGE_BYTES - 0x40, 0x40);
    text.bytes = sizeof text + sizeof section;
    text.address = edit.address = BASE;
    text.memory_bytes = text.file_bytes = edit.memory_bytes = edit.file_bytes = IMAGE_BYTES;
    edit.bytes = sizeof edit;
    header.commands = 3;
    header.commands_bytes = text.bytes + edit.bytes + (uint32_t)sizeof starts;
    uint8_t *at = image;
    memcpy(at, &header, sizeof header);
    memcpy(at += sizeof header, &text, sizeof text);
    memcpy(at += sizeof text, section, sizeof section);
    memcpy(at += sizeof section, &edit, sizeof edit);
    memcpy(at + sizeof edit, starts, sizeof starts);
}

static uint64_t place(uint16_t offset) {
    return offset % 2 != 0 ? BASE + offset % IMAGE_BYTES : STACK + offset % (STACK_BYTES + 64);
}

static bool follows_call(void *ctx, uint64_t ra, uint64_t *target) {
    *target = ra & ~UINT64_C(63);
    return ctx != NULL && ra % 3 != 0;
}

/* The tables and the code, as each CPU's decoders see them. */
static void decode_both(const struct hd_stack *copy, const struct hd_regs *regs) {
    struct hd_macho_tables tables;
    struct hd_compact compact;
    struct hd_compact_entry entry = {.start = 0};
    struct hd_row row;
    struct hd_regs next;
    struct hd_innermost in = {.memory = &modules.memory,
                              .stack = copy,
                              .regs = regs,
                              .follows_call = follows_call,
                              .ctx = &modules,
                              .start = BASE + CODE_AT,
                              .stop = BASE + CODE_AT + 0x200};
    if (hd_macho_tables_read(&modules.memory, BASE, &tables) == 0 &&
        hd_compact_open(&modules.memory, &tables, &compact) == 0 &&
        hd_compact_find(&modules.memory, &compact, regs->pc, &entry) == 0 &&
        (regs->pc < entry.start || regs->pc >= entry.stop)) {
        abort();
    }
    for (uint8_t kind = HD_COMPACT_NULL; kind <= HD_COMPACT_DWARF; kind++) {
        in.kind = kind;
        (void)hd_innermost_aarch64(&in, &next);
        (void)hd_innermost_x86_64(&in, &next);
    }
    (void)hd_compact_row(&modules.memory, HD_MACHO_CPU_ARM64, &entry, &row);
    (void)hd_compact_row(&modules.memory, HD_MACHO_CPU_X86_64, &entry, &row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct input input;
    struct hd_frame frames[FRAMES];
    struct hd_walk walk;
    struct hd_regs regs = {.valid = (UINT64_C(1) << HD_ARCH_REGS) - 1};
    if (bytes < sizeof input) {
        return 0;
    }
    memcpy(&input, data, sizeof input);
    data += sizeof input;
    bytes -= sizeof input;
    memset(image, 0, sizeof image);
    memset(stack, 0, sizeof stack);
    size_t from = input.is_raw % 4 == 3 ? 0 : UNWIND_AT,
           n = bytes < IMAGE_BYTES - from ? bytes : IMAGE_BYTES - from;
    memcpy(image + from, data, n);
    memcpy(stack, data + n, bytes - n < STACK_BYTES ? bytes - n : STACK_BYTES);
    if (from != 0) {
        put_header();
    }
    for (unsigned i = 0; i < 2; i++) { /* pointers, which a mutation would hardly hit */
        uint64_t value = place(input.offsets[32 + i]);
        memcpy(stack + input.stack_words[i] % (STACK_BYTES / 8) * 8, &value, 8);
    }
    readable = input.readable == 0 ? IMAGE_BYTES : (size_t)input.readable * 32;
    readable = readable < IMAGE_BYTES ? readable : IMAGE_BYTES;
    regs.pc = BASE + CODE_AT + input.pc % (IMAGE_BYTES - CODE_AT);
    regs.sp = STACK + input.offsets[31] % STACK_BYTES / 8 * 8;
    for (unsigned i = 0; i < HD_ARCH_REGS && i < 31; i++) {
        regs.r[i] = place(input.offsets[i]);
    }
    if (unwinder == NULL && (unwinder = calloc(1, hd_unwinder_bytes_macho())) == NULL) {
        return 0;
    }
    memset(&modules, 0, sizeof modules);
    modules.memory = (struct hd_memory){.read = read_image};
    modules.find = find_module;
    hd_unwinder_init_macho(unwinder, &modules);
    for (unsigned again = 0; again < 2; again++) { /* the second walk is by the caches */
        hd_unwind(unwinder, &regs, stack, STACK, STACK_BYTES, 0, frames, FRAMES, &walk);
        if (walk.count > FRAMES || walk.stop > HD_STOP_LIMIT) {
            abort();
        }
    }
    struct hd_stack copy = {.bytes = stack, .address = STACK, .size = STACK_BYTES};
    decode_both(&copy, &regs);
    return 0;
}
