/* SPDX-License-Identifier: MIT
 *
 * The state of this process's watch, which the files of this room share. The functions here find out in which
 * process they run. Any thread may call them. They are async-signal-safe and do not allocate.
 */
#ifndef HD_ATTACH_STATE_H
#define HD_ATTACH_STATE_H

#include "preload/waits/wait_table.h"
#include "record/record.h"

/* The phases of a watch, in their order. When our threads have ended, but not for ever, the phase is
 * AT_FIRST_WAIT again. The main thread changes the phase. The monitor may also set ENDING or NEVER, and any
 * thread may set NEVER. */
enum hd_attach_phase {
    HD_ATTACH_NO_RECORD,
    HD_ATTACH_AT_FIRST_WAIT, /* the main thread's next wait starts the watch */
    HD_ATTACH_STARTING,
    HD_ATTACH_WATCHED,
    /* Our threads are ending by themselves. At its next wait the main thread blocks until they have ended,
     * and starts new ones. */
    HD_ATTACH_ENDING,
    HD_ATTACH_NEVER, /* this process is not watched any more */
};

/* Counts and times of the starts and stops of this process's watch. */
struct hd_attach_restarts {
    unsigned starts;
    unsigned lost_tables;   /* the number of wait tables that an abandoned worker may still use */
    uint64_t start_took_ns; /* the duration of the watch's last start */
    uint64_t not_before_ns; /* the earliest time of the watch's next start */
};

struct hd_attach_state {
    struct hd_record *record;
    _Atomic uint32_t phase; /* enum hd_attach_phase */
    _Atomic bool filtered;  /* hd_attach_is_filtered explains it */
    /* The main thread's securebits at the time when our threads started. -1: the next start reads them. */
    int securebits;
    struct hd_wait_table *waits; /* the main thread's wait table, while that thread is watched */
    struct hd_attach_restarts restarts;
};
extern struct hd_attach_state hd_attach_state;

/* The alternate signal stack that Hangdog gave the main thread. NULL: none. The kernel does not wipe this
 * pointer in a forked child, since the child still has the stack. */
extern void *hd_attach_alt_stack;

/* Makes the calling process the one for which hd_attach_is_own returns true. */
void hd_attach_set_own(void);

/* False in a forked child, because the kernel wipes Hangdog's memory in it. True in a vforked child, which
 * shares Hangdog's memory with the parent. */
bool hd_attach_has_own_memory(void);
/* True only in the watched process: false in a forked child and in a vforked one. */
bool hd_attach_is_own(void);
/* True in a child that shares the watched process's memory until the child's exec. */
bool hd_attach_is_vforked(void);
/* True in a forked or vforked child of a watched process. */
bool hd_attach_is_child(void);

/* True: a seccomp filter applies to a thread of the program, and could kill the program for a system call.
 * While this is true, our code on the program's threads makes no system call. */
bool hd_attach_is_filtered(void);

/* True if our threads exist in phase `phase` of the watch. */
bool hd_attach_phase_has_threads(enum hd_attach_phase phase);
/* Returns the monitor's thread id. 0: this process has no threads of ours. -1: the monitor has not stored its
 * id yet. */
int hd_attach_own_thread(void);

/* The preload's wrapper of prctl under a second name, for calls from the preload itself. If the program
 * has a prctl of its own, that function hides the wrapper's first name. */
int hd_own_prctl(int option, ...);

#endif
