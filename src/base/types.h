/* SPDX-License-Identifier: MIT
 *
 * The values that rooms pass to each other: frames, registers, captures. A function returns 0 or a negative
 * errno value unless its comment says otherwise.
 */
#ifndef HD_TYPES_H
#define HD_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/words.h"

#define HD_NS_PER_US 1000ULL
#define HD_NS_PER_MS 1000000ULL
#define HD_NS_PER_S 1000000000ULL

#define HD_UUID_BYTES 16
#define HD_TURN_BUCKETS 48  /* of the histogram of turns */
#define HD_FRAME_BUCKETS 16 /* of the histogram of frames */
#define HD_BUILD_ID_MAX 32  /* bytes */

/* ---- registers ---------------------------------------------------------------------------- */

/* The most registers of a supported machine. Their numbers are those of the machine's DWARF numbering: on
 * x86-64 System V psABI 1.0, figure 3.36. Column 16, the return address, is in `pc`. */
#define HD_REGS_MAX 33

struct hd_regs {
    uint64_t pc;
    uint64_t sp;
    uint64_t r[HD_REGS_MAX]; /* by DWARF number; the stack pointer's slot is unused */
    uint64_t valid;          /* bit n: r[n] is known. pc and sp are always known. */
};

/* ---- frames ------------------------------------------------------------------------------- */

struct hd_frame {
    uint64_t pc;    /* address in memory; a return address unless trust is context or signal */
    uint64_t start; /* where the frame's function begins in memory; 0: not known */
    uint8_t trust;  /* enum hd_trust */
    /* 0, or a function of a script (src/script). Then pc is in the interpreter, and start is the function's
     * code. */
    uint16_t script;
    uint32_t at; /* from a walk: where the frame begins in the copy of the stack; of a script: the line */
};

/* The address to look up. For a return address that is one byte earlier, in the call: the call may be the
 * last instruction of a function that never returns. */
static inline uint64_t hd_frame_lookup_pc(const struct hd_frame *f) {
    return f->pc - (f->trust != HD_TRUST_CONTEXT && f->trust != HD_TRUST_SIGNAL && f->pc != 0);
}

/* Frames with the same key are merged: the key is the function's start where known, else the address. */
static inline uint64_t hd_frame_key(const struct hd_frame *f) {
    return f->start != 0 ? f->start : f->pc;
}

/* ---- what a capture says ------------------------------------------------------------------ */

/* The kernel's scheduling statistics of one thread. Equal statistics at two instants prove that the thread
 * did not run in between. Some kernels have none: see hd_thread_clock_read. */
struct hd_sched {
    uint64_t cpu_ns;   /* time on a CPU */
    uint64_t delay_ns; /* time runnable, waiting for a CPU */
    uint64_t slices;   /* times the thread got a CPU; 0: the statistics are not known */
};

static inline bool hd_sched_known(const struct hd_sched *s) {
    return s->slices != 0;
}

#define HD_SYSCALL_NONE (-1) /* the thread ran user code, was in a page fault, or the call is not known */

struct hd_capture {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    struct hd_sched sched;
    struct hd_regs regs;
    const uint8_t *stack; /* the copy; the capture method says whose memory this is, and how long */
    uint64_t stack_addr;  /* address that stack[0] was copied from */
    uint32_t stack_bytes; /* 0: nothing was copied (same, or way is kernel) */
    uint8_t way;          /* enum hd_way */
    uint8_t state;        /* enum hd_run_state */
    bool same;            /* scheduling statistics prove that the stack is that of the capture before */
    bool truncated;       /* the thread's stack is longer than the copy */
    bool in_place;        /* the worker reads the copy where the thread itself stored it */
    bool no_space;        /* the thread runs, and a signal's frame would not fit its stack */
    int32_t syscall_nr;   /* HD_SYSCALL_NONE, or the number */
    uint64_t syscall_args[6];
    /* The mutex that a thread in a futex call waits for, in glibc's layout. The capture reads the words
     * between the same two reads of the scheduling statistics as the stack, so an owner can be claimed. */
    bool futex_read;
    uint32_t futex_words[5]; /* lock, count, owner, nusers, kind */
};

#endif
