/* SPDX-License-Identifier: MIT
 *
 * The state of this process's watch, shared by the files of this room, and the question in which process a
 * call runs. Any thread; async-signal-safe; no allocation.
 */
#ifndef HD_ATTACH_STATE_H
#define HD_ATTACH_STATE_H

#include "preload/waits/wait_table.h"
#include "record/record.h"

/* The main thread moves the phase forward. The monitor may set ENDING or NEVER, any thread NEVER. */
enum hd_attach_phase {
    HD_ATTACH_NO_RECORD,
    HD_ATTACH_AT_FIRST_WAIT, /* the main thread's next wait starts the watch */
    HD_ATTACH_STARTING,
    HD_ATTACH_WATCHED,
    HD_ATTACH_ENDING, /* our threads end by themselves; the main thread's next wait starts others */
    HD_ATTACH_NEVER,  /* no watch in this process any more */
};

/* Data about earlier watches of this process. */
struct hd_attach_restarts {
    unsigned starts;
    unsigned lost_tables;   /* wait tables that an abandoned worker may still use */
    uint64_t start_took_ns; /* the last start */
    uint64_t not_before_ns; /* earliest next start */
};

struct hd_attach_state {
    struct hd_record *record;
    _Atomic uint32_t phase; /* enum hd_attach_phase */
    _Atomic bool filtered;  /* see hd_attach_is_filtered */
    int securebits;         /* of the main thread when our threads started; -1: the next start reads them */
    struct hd_wait_table *waits; /* of the main thread, while it is watched */
    struct hd_attach_restarts restarts;
};
extern struct hd_attach_state hd_attach_state;

/* Alternate signal stack that the watch gave the main thread, and that the program does not see; NULL: none.
 * Written once, before main. A forked child still has this stack, so the pointer is not wiped there. */
extern void *hd_attach_alt_stack;

/* The calling process becomes the one that hd_attach_is_own means. */
void hd_attach_set_own(void);

/* False in a forked child, where the kernel has wiped our memory. True in a vforked child. */
bool hd_attach_has_own_memory(void);
/* True in the watched process only: false in a forked child and in a vforked one. */
bool hd_attach_is_own(void);
/* True in a child that shares the watched process's memory until its exec. */
bool hd_attach_is_vforked(void);
/* True in a forked or vforked child of a watched process. */
bool hd_attach_is_child(void);

/* A seccomp filter applies to some thread of the program, and could kill the program for a system call. Code
 * of ours on the program's threads must then make none. */
bool hd_attach_is_filtered(void);

/* True while threads of ours exist in phase `phase`. */
bool hd_attach_phase_has_threads(enum hd_attach_phase phase);
/* The monitor's thread id. 0: this process has no threads of ours; -1: the monitor has not stored its id yet.
 */
int hd_attach_own_thread(void);

/* The preload's prctl, under a name that no function of the program hides. */
int hd_own_prctl(int option, ...);

#endif
