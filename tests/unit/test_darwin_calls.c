/* SPDX-License-Identifier: MIT
 *
 * Names in images of Darwin: the stub of a call by its symbol, and the function that makes a request by its
 * exported name. Each image is written by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cause/probe.h"
#include "cause/rows.h"
#include "macho_image.h"
#include "os/darwin/mach.h"
#include "os/darwin/open_file.h"
#include "os/darwin/syscall_number.h"
#include "os/darwin/system_values.h"

enum {
    KERNEL,
    XPC,
    LOOP,
    PROGRAM,
    IMAGES
};

#define CODE 0x1000u /* the first function of each image */

static struct macho_image image[IMAGES];
static const char *const paths[IMAGES] = {
    "/usr/lib/system/libsystem_kernel.dylib", "/usr/lib/system/libxpc.dylib",
    "/System/Library/Frameworks/CoreFoundation", "/Applications/My.app/My"};
static struct hd_modules modules;
static struct hd_probe_context ctx;
static struct hd_probe probe;

struct hd_mach_calls hd_mach;
void hd_open_file_read(int fd, struct hd_open_file *out) {
    (void)fd;
    *out = (struct hd_open_file){.kind = HD_OPEN_UNKNOWN};
}

void hd_system_process_name(int pid, char name[16]) {
    (void)pid;
    name[0] = '\0';
}

static uint64_t base_of(unsigned i) {
    return 0x10000000u + i * 0x100000u;
}

static int read_memory(void *unused, uint64_t addr, void *dst, size_t n) {
    (void)unused;
    unsigned i = (unsigned)((addr - base_of(0)) / 0x100000u);
    if (addr < base_of(0) || i >= IMAGES) {
        return -EFAULT;
    }
    struct hd_memory memory = macho_image_memory(&image[i]);
    return memory.read(memory.ctx, addr, dst, n);
}

static int find_image(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t size) {
    (void)m;
    for (unsigned i = 0; i < IMAGES; i++) {
        if (pc - base_of(i) < MACHO_IMAGE_TEXT_BYTES) {
            out->lo = out->header = base_of(i);
            out->hi = out->lo + MACHO_IMAGE_TEXT_BYTES;
            out->main_program = i == PROGRAM;
            if (path != NULL) {
                snprintf(path, size, "%s", paths[i]);
            }
            return 0;
        }
    }
    return -ENOENT;
}

/* Two stubs of 16 bytes. Each enters the kernel, and does not show its number. */
static void make_stubs(struct macho_image *m) {
    static const char strings[] = "\0___read_nocancel\0_mach_msg2_trap";
    struct hd_macho_symbol symbols[] = {
        {.name = 1, .type = 0xf, .section = 1, .value = MACHO_IMAGE_VMADDR + CODE},
        {.name = 18, .type = 0xf, .section = 1, .value = MACHO_IMAGE_VMADDR + CODE + 16},
    };
    struct hd_macho_symtab s = {
        .command = HD_LC_SYMTAB, .bytes = sizeof s, .symbols = 2, .strings_bytes = sizeof strings};
    s.symbols_offset = macho_image_table(m, symbols, sizeof symbols);
    s.strings_offset = macho_image_table(m, strings, sizeof strings);
    macho_image_command(m, &s, sizeof s);
#ifdef __aarch64__
    static const uint8_t enter[4] = {0x01, 0x10, 0x00, 0xd4};
#else
    static const uint8_t enter[4] = {0x90, 0x90, 0x0f, 0x05};
#endif
    memcpy(m->bytes + CODE + 8, enter, sizeof enter);
    memcpy(m->bytes + CODE + 24, enter, sizeof enter);
}

/* A trie with one name, which is exported at CODE. */
static void export_name(struct macho_image *m, const char *name) {
    uint8_t trie[128] = {0, 1}, *p = trie + 2;
    size_t n = strlen(name) + 2;
    *p = '_';
    memcpy(p + 1, name, n - 1);
    p += n;
    *p++ = (uint8_t)(2 + n + 1);                              /* the node follows */
    static const uint8_t node[] = {3, 0, 0x80, CODE >> 7, 0}; /* flags 0, CODE as ULEB, no edge */
    memcpy(p, node, sizeof node);
    struct hd_macho_linkedit_data command = {.command = HD_LC_DYLD_EXPORTS_TRIE,
                                             .bytes = sizeof command,
                                             .data_bytes = (uint32_t)(2 + n + 1 + sizeof node)};
    command.offset = macho_image_table(m, trie, command.data_bytes);
    macho_image_command(m, &command, sizeof command);
}

static int start(void **state) {
    (void)state;
    memset(&modules, 0, sizeof modules);
    memset(&ctx, 0, sizeof ctx);
    for (unsigned i = 0; i < IMAGES; i++) {
        macho_image_init(&image[i], base_of(i), NULL, 0);
    }
    make_stubs(&image[KERNEL]);
    make_stubs(&image[PROGRAM]);
    export_name(&image[XPC], "xpc_connection_send_message_with_reply_sync");
    export_name(&image[LOOP], "CFRunLoopRunInMode");
    modules.memory = (struct hd_memory){.read = read_memory};
    modules.find = find_image;
    hd_probe_context_open(&ctx);
    hd_probe_context_init(&ctx, &modules, HD_THREAD_ID_NONE);
    return 0;
}

static uint64_t code_of(unsigned i) {
    return base_of(i) + CODE;
}

static void the_name_of_a_stub_shows_the_call(void **state) {
    (void)state;
    struct hd_capture c = {
        .state = HD_RUN_BLOCKED, .regs.pc = code_of(KERNEL) + 12, .syscall_nr = HD_SYSCALL_NONE};
    assert_int_equal(hd_probe_call(&ctx, &c), 396);
    c.regs.pc += 16;
    assert_int_equal(hd_probe_call(&ctx, &c), HD_DARWIN_MACH_MSG2);
    c.syscall_nr = HD_DARWIN_MACH_MSG; /* x16 comes first */
    assert_int_equal(hd_probe_call(&ctx, &c), HD_DARWIN_MACH_MSG);
    c.syscall_nr = HD_SYSCALL_NONE;
    c.regs.pc = code_of(PROGRAM) + 12; /* a stub of the program has no name that counts */
    assert_int_equal(hd_probe_call(&ctx, &c), HD_SYSCALL_NONE);
    image[KERNEL].unreadable = base_of(KERNEL); /* no header: no name */
    c.regs.pc = code_of(KERNEL) + 12;
    assert_int_equal(hd_probe_call(&ctx, &c), HD_SYSCALL_NONE);
}

/* The cause of a thread in mach_msg2, with these images on its stack, outermost last. */
static enum hd_cause_kind cause_of(const unsigned *callers, uint32_t count) {
    struct hd_frame frames[6] = {{.pc = code_of(KERNEL) + 28, .trust = HD_TRUST_CONTEXT}};
    struct hd_capture c = {
        .state = HD_RUN_BLOCKED, .regs.pc = frames[0].pc, .syscall_nr = HD_DARWIN_MACH_MSG2};
    for (uint32_t i = 0; i < count; i++) {
        frames[i + 1] = (struct hd_frame){
            .pc = code_of(callers[i]) + 8, .start = code_of(callers[i]), .trust = HD_TRUST_CFI};
    }
    hd_probe_read(&ctx, HD_THREAD_ID_NONE, &c, frames, count + 1, 0, &probe);
    return hd_cause_of_block(&probe);
}

static void a_request_is_named_by_its_function(void **state) {
    (void)state;
    static const unsigned by_xpc[] = {XPC, PROGRAM}, in_loop[] = {LOOP, PROGRAM}, own[] = {PROGRAM, XPC},
                          nested[] = {LOOP, XPC, PROGRAM};
    assert_int_equal(cause_of(by_xpc, 2), HD_CAUSE_NETWORK);
    assert_string_equal(probe.peer.request, "xpc_connection_send_message_with_reply_sync");
    assert_string_equal(probe.peer.awaited, "a reply by XPC");
    /* A run loop of the turn waits for events, not for a reply. */
    assert_int_equal(cause_of(in_loop, 2), HD_CAUSE_UNKNOWN);
    assert_null(probe.peer.request);
    assert_int_equal(cause_of(nested, 3), HD_CAUSE_UNKNOWN);
    assert_null(probe.peer.request);
    /* A callback of the program waits for its own message. */
    assert_int_equal(cause_of(own, 2), HD_CAUSE_NETWORK);
    assert_string_equal(probe.peer.request, "mach_msg2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_name_of_a_stub_shows_the_call, start),
        cmocka_unit_test_setup(a_request_is_named_by_its_function, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
