/* SPDX-License-Identifier: MIT
 *
 * The plain values that flow between the rooms. No code, no room's private state.
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

/* Enough for every machine that is supported; the numbering is the machine's DWARF numbering
 * (x86-64: System V psABI 1.0, figure 3.36; 16 is the return address column, kept in `pc`). */
#define HD_REGS_MAX 33

struct hd_regs {
    uint64_t pc;
    uint64_t sp;
    uint64_t r[HD_REGS_MAX]; /* by DWARF number; the stack pointer's own slot is unused */
    uint64_t valid;          /* bit n: r[n] is known. pc and sp are always known. */
};

/* ---- frames ------------------------------------------------------------------------------- */

struct hd_frame {
    uint64_t pc;    /* address in memory; a return address unless trust is context or signal */
    uint64_t start; /* where its function begins in memory, 0 when nothing says so */
    uint8_t trust;  /* enum hd_trust */
    uint16_t
        script;  /* 0; or a script's function (src/script): pc is then the interpreter's, start its code */
    uint32_t at; /* from a walk: where the frame begins in the copy of the stack; of a script: the line */
};

/* A return address is looked up at the call, one byte before: the call may be the last
 * instruction of a function that never returns. */
static inline uint64_t hd_frame_lookup_pc(const struct hd_frame *f) {
    return f->pc - (f->trust != HD_TRUST_CONTEXT && f->trust != HD_TRUST_SIGNAL && f->pc != 0);
}

/* What a frame is merged by: its function where that is known, else the address itself. */
static inline uint64_t hd_frame_key(const struct hd_frame *f) {
    return f->start != 0 ? f->start : f->pc;
}

/* ---- what a capture says ------------------------------------------------------------------ */

/* Scheduling figures of one thread (/proc/self/task/TID/schedstat). Equal figures at two
 * instants prove that the thread did not run in between. A kernel without them: see hd_capture_sched. */
struct hd_sched {
    uint64_t cpu_ns;   /* time on a processor */
    uint64_t delay_ns; /* time runnable, waiting for one */
    uint64_t slices;   /* times it was put on one; 0: the figures are not known */
};

static inline bool hd_sched_known(const struct hd_sched *s) {
    return s->slices != 0;
}

#define HD_SYSCALL_NONE (-1) /* the thread was in user code, a page fault, or it is not known */

struct hd_capture {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    struct hd_sched sched;
    struct hd_regs regs;
    const uint8_t *stack; /* the copy; whose memory, and how long, says who took it */
    uint64_t stack_addr;  /* address that stack[0] was copied from */
    uint32_t stack_bytes; /* 0: nothing was copied (same, or way is kernel) */
    uint8_t way;          /* enum hd_way */
    uint8_t state;        /* enum hd_run_state */
    bool same;            /* scheduling figures prove the stack of the capture before */
    bool truncated;       /* the stack goes on beyond stack_bytes */
    bool borrowed;        /* the copy lies where the thread itself has put it */
    bool no_room;         /* the thread runs, and a signal's frame would not fit its stack */
    int32_t syscall_nr;   /* HD_SYSCALL_NONE, or the number */
    uint64_t syscall_args[6];
    /* word at the futex address and owner, read inside the same sandwich; valid only where
     * syscall_nr is futex: lets analysis claim a mutex's owner (glibc pthread_mutex_t layout) */
    bool futex_read;
    uint32_t futex_words[5]; /* lock, count, owner, nusers, kind */
};

/* ---- errors -------------------------------------------------------------------------------- */
/* Functions return 0 or a negative errno value unless they say otherwise. */

#endif
