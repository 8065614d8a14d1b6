/* SPDX-License-Identifier: MIT
 *
 * XNU defines the stubs: macros of libsyscall for calls of BSD, and kernel_trap for traps of Mach.
 */
#include "cause/darwin/wait_call.h"

#include <string.h>

#include "base/text.h"
#include "image/macho/symbols.h"
#include "os/darwin/syscall_number.h"

static uint32_t word_at(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

bool hd_wait_call_arm64(const uint8_t code[HD_WAIT_CODE_BYTES], int32_t *nr) {
    const uint32_t movz = 0xd2800010u, movn = 0x92800010u,
                   mask = 0xffe0001fu; /* of x16, without the number */
    const uint32_t svc = 0xd4000001u;
    uint32_t move = word_at(code + HD_WAIT_CODE_BYTES - 8), call = word_at(code + HD_WAIT_CODE_BYTES - 4);
    uint32_t number = move >> 5 & 0xffff;
    *nr = (move & mask) == movz   ? (int32_t)number
          : (move & mask) == movn ? -1 - (int32_t)number
                                  : HD_SYSCALL_NONE;
    return (call & mask) == svc;
}

bool hd_wait_call_x86_64(const uint8_t code[HD_WAIT_CODE_BYTES], int32_t *nr) {
    enum {
        CLASS_SHIFT = 24, /* the number's top byte says whether the call is one of Mach or of BSD */
        MACH = 1,
        BSD = 2,
        NUMBER_MASK = 0xffffff,
        MOV_EAX = 0xb8,
        MOV_BYTES = 5
    };
    static const uint8_t move_rcx[3] = {0x49, 0x89, 0xca}, call[2] = {0x0f, 0x05};
    const uint8_t *end = code + HD_WAIT_CODE_BYTES - sizeof call;
    const uint8_t *move = end - MOV_BYTES; /* stubs of Mach move rcx to r10 first */
    *nr = HD_SYSCALL_NONE;
    if (memcmp(end, call, sizeof call) != 0) {
        return false;
    }
    if (memcmp(end - sizeof move_rcx, move_rcx, sizeof move_rcx) == 0) {
        move -= sizeof move_rcx;
    }
    if (*move == MOV_EAX) {
        uint32_t number = word_at(move + 1);
        *nr = number >> CLASS_SHIFT == BSD    ? (int32_t)(number & NUMBER_MASK)
              : number >> CLASS_SHIFT == MACH ? -(int32_t)(number & NUMBER_MASK)
                                              : HD_SYSCALL_NONE;
    }
    return true;
}

/* Returns the call whose stub has code at `pc`, by the name of the stub. HD_SYSCALL_NONE: not known. */
static int32_t find_by_name(struct hd_probe_context *ctx, uint64_t pc) {
    struct hd_macho_tables tables;
    struct hd_macho_found found;
    char name[64];
    int module = hd_modules_at(ctx->modules, pc);
    if (module < 0) {
        return HD_SYSCALL_NONE;
    }
    hd_text_base_name(name, sizeof name, hd_module_path(ctx->modules, (uint32_t)module));
    const struct hd_memory *memory = &ctx->modules->memory;
    uint64_t header = ctx->modules->module[module].header;
    bool named = strcmp(name, "libsystem_kernel.dylib") == 0 &&
                 hd_macho_tables_read(memory, header, &tables) == 0 &&
                 hd_macho_symbol_at(memory, &tables, pc, &found) &&
                 hd_macho_symbol_name(memory, &tables, found.name, name, sizeof name) == 0;
    return named ? hd_syscall_of_stub(name) : HD_SYSCALL_NONE;
}

/* Distinguishes the calls of fcntl by their command. Only the commands that take a lock wait for one. */
static int32_t refine(int32_t nr, const struct hd_capture *c) {
    enum {
        SETLK = 8,
        SETLKW_TIMEOUT = 10,
        OFD_SETLK = 90,
        OFD_SETLKW_TIMEOUT = 93
    };
    uint32_t command = (uint32_t)c->syscall_args[1];
    bool lock = (command >= SETLK && command <= SETLKW_TIMEOUT) ||
                (command >= OFD_SETLK && command <= OFD_SETLKW_TIMEOUT);
    return hd_syscall_cancellable(nr) == HD_DARWIN_FCNTL && !lock ? HD_DARWIN_FCNTL_DISK : nr;
}

int32_t hd_wait_call_find(struct hd_probe_context *ctx, const struct hd_capture *c) {
    uint8_t code[HD_WAIT_CODE_BYTES];
    int32_t nr;
    bool blocked = c->state == HD_RUN_BLOCKED || c->state == HD_RUN_UNINTERRUPTIBLE;
    if (!blocked || c->regs.pc < sizeof code) {
        return HD_SYSCALL_NONE;
    }
    if (!hd_memory_read(&ctx->modules->memory, c->regs.pc - sizeof code, code, sizeof code)) {
        return c->syscall_nr;
    }
#ifdef __aarch64__
    bool in_call = hd_wait_call_arm64(code, &nr);
#else
    bool in_call = hd_wait_call_x86_64(code, &nr);
#endif
    if (!in_call) {
        return HD_SYSCALL_NONE;
    }
    nr = nr != HD_SYSCALL_NONE ? nr : c->syscall_nr;
    nr = nr != HD_SYSCALL_NONE ? nr : find_by_name(ctx, c->regs.pc);
    return refine(nr, c);
}
