/* SPDX-License-Identifier: MIT
 *
 * Finds the caller of a leaf function whose return address is not known. On arm64 a call leaves that address
 * in x30, and a leaf does not save it. Most functions of libc around a system call are leaves. Of a thread
 * that is blocked there, the kernel shows only the stack pointer and the program counter.
 *
 * The stack has the frame record of the leaf's caller. That record's return address is behind a call of the
 * caller, so the call names the caller. The caller's code has a call of the leaf, and the caller's unwind
 * rule at that call must put the return address into that record. All three agree by chance hardly ever. If
 * the caller calls the leaf at several places, the first that agrees is taken: function certain, line not.
 *
 * A pointer may have called the caller, as a loop calls a callback. Then return addresses that earlier calls
 * left below name functions that may be the caller. If none is, the walk continues behind the caller, and
 * says that frames may be missing. On the worker thread, also during a hang, so without allocation.
 */
/* Packages compile the files of all CPUs. */
#ifdef __aarch64__

#include "unwind/walk.h"

#define CANDIDATES 128u    /* records that are tried */
#define CODE_BYTES 32768u  /* hardly a function is larger */
#define WALK_BYTES 131072u /* code that is read in a walk */

/* Finds the first direct call in [at, end). Returns the address behind it, and the address that it calls in
 * *target; 0: there is none, or the code cannot be read. */
static uint64_t next_call(const struct hd_memory *memory, uint64_t at, uint64_t end, uint64_t *target) {
    uint32_t code[64]; /* a read is a system call */
    for (; at % 4 == 0 && at < end && end - at >= 4; at += sizeof code) {
        size_t bytes = end - at < sizeof code ? (end - at) & ~UINT64_C(3) : sizeof code;
        if (!hd_memory_read(memory, at, code, bytes)) {
            return 0;
        }
        for (size_t i = 0; i < bytes / 4; i++) {
            if ((code[i] & 0xfc000000) == 0x94000000) { /* bl */
                *target = at + 4 * i + (uint64_t)((int64_t)((uint64_t)code[i] << 38) >> 36);
                return at + 4 * i + 4;
            }
        }
    }
    return 0;
}

/* Returns the function that a direct call of `target` enters; 0: not known. */
static uint64_t function_of(struct hd_walker *w, uint64_t target) {
    const struct hd_memory *memory = &w->u->modules->memory;
    uint64_t slot, to;
    if (target == 0 || !hd_arch_is_stub(memory, target, &slot)) {
        return target;
    }
    return hd_memory_read(memory, slot, &to, sizeof to) ? hd_arch_strip(to) : 0;
}

struct search {
    struct hd_walker *w;
    uint64_t leaf;
    bool by_fp; /* a caller that finds its frame by the frame pointer may be taken: its place is no proof */
    uint32_t bytes_left; /* code that may still be read */
};

/* Checks whether the call before `ra` may be the caller's call of the leaf. If so, the caller's rule there
 * finds the caller's frame record at address `record`. Returns true, and then the walker is at the caller's
 * frame. */
static bool is_caller(const struct search *s, uint64_t caller, uint64_t ra, uint64_t record) {
    struct hd_regs *regs = &s->w->regs;
    const struct hd_cached_rule *e = hd_unwinder_rule(s->w->u, ra - 1);
    int64_t slot = e->rule.slot[HD_ARCH_LR_SLOT];
    uint64_t cfa = record + 8 - (uint64_t)(8 * slot), from = cfa - (uint64_t)(int64_t)e->rule.cfa_offset;
    bool by_fp = e->rule.kind == HD_RULE_FP;
    if (hd_cached_start(e) != caller || slot == 0 ||
        (by_fp ? !s->by_fp : e->rule.kind != HD_RULE_SP || from != regs->sp)) {
        return false;
    }
    regs->pc = ra;
    regs->r[HD_ARCH_FP] = from;
    regs->valid = (uint64_t)by_fp << HD_ARCH_FP;
    s->w->trust = HD_TRUST_SCAN;
    s->w->used_scan = true;
    return true;
}

/* Looks in the code of `caller` for a call of the leaf that is_caller accepts. */
static bool calls_leaf(struct search *s, uint64_t caller, uint64_t record) {
    uint64_t end = caller + (s->bytes_left < CODE_BYTES ? s->bytes_left : CODE_BYTES), at = caller, target;
    while (caller != 0 && (at = next_call(&s->w->u->modules->memory, at, end, &target)) != 0) {
        if (hd_cached_start(hd_unwinder_rule(s->w->u, at - 1)) != caller) {
            break; /* behind the function's end */
        }
        if (function_of(s->w, target) == s->leaf && is_caller(s, caller, at, record)) {
            return true;
        }
    }
    s->bytes_left -= (uint32_t)((at != 0 ? at : end) - caller);
    return false;
}

/* Reads the return address at `at`. Returns false if there is none, or if it is *ra, the last one. */
static bool read_return(struct hd_walker *w, uint64_t at, uint64_t *ra, uint64_t *target) {
    uint64_t word;
    if (!hd_stack_read(&w->stack, at, &word, sizeof word) || (word = hd_arch_strip(word)) == *ra ||
        !hd_walk_return_is_plausible(w, word, true, target)) {
        return false;
    }
    *ra = word;
    return true;
}

/* Finds the caller by the call that made the caller's frame. */
static bool find_by_call(struct search *s) {
    uint64_t top = s->w->stack.address + s->w->stack.size, ra = 0, target;
    unsigned candidates = CANDIDATES;
    for (uint64_t at = (s->w->regs.sp + 7) & ~UINT64_C(7); at < top && top - at >= 16; at += 8) {
        if (candidates == 0 || s->bytes_left == 0) {
            break;
        }
        if (read_return(s->w, at + 8, &ra, &target)) {
            candidates--;
            if (calls_leaf(s, function_of(s->w, target), at)) {
                return true;
            }
        }
    }
    return false;
}

/* Finds the caller whose frame record is at `record`, among the functions that left a return address below.
 */
static bool find_by_earlier_calls(struct search *s, uint64_t record) {
    uint64_t ra = 0, target;
    for (uint64_t at = (s->w->stack.address + 7) & ~UINT64_C(7); at < record && s->bytes_left != 0; at += 8) {
        if (read_return(s->w, at, &ra, &target) &&
            calls_leaf(s, hd_cached_start(hd_unwinder_rule(s->w->u, ra - 1)), record)) {
            return true;
        }
    }
    return false;
}

uint8_t hd_walk_step_hidden(struct hd_walker *w, uint64_t leaf) {
    struct search s = {.w = w, .leaf = leaf, .by_fp = true, .bytes_left = WALK_BYTES};
    if (!w->trial && leaf != 0 && find_by_call(&s)) {
        return HD_STEP_ON;
    }
    if (!w->trial && !hd_scan(w, 0)) {
        return HD_STOP_NO_UNWIND_INFORMATION;
    }
    uint64_t record = w->regs.r[HD_ARCH_FP];
    s = (struct search){.w = w, .leaf = leaf, .bytes_left = WALK_BYTES};
    if (!w->trial && leaf != 0 && find_by_earlier_calls(&s, record)) {
        return HD_STEP_ON;
    }
    return hd_step_record(w, record, HD_TRUST_GAP);
}

#endif
