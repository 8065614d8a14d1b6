/* SPDX-License-Identifier: MIT
 *
 * A fake of hd_mach for threads of a test on Linux. It writes each call into a log, counts rights to ports,
 * and makes calls fail. A thread's facts are what the test stores, or a real thread is stopped by a signal.
 */
#ifndef HD_FAKE_MACH_H
#define HD_FAKE_MACH_H

#include <pthread.h>

#include "os/darwin/mach.h"

#define FAKE_LOG_BYTES 256u

struct fake_thread {
    hd_port port;
    struct hd_mach_thread facts; /* `id` 0: the slot is free */
    struct hd_mach_registers registers;
    bool real; /* true: suspend stops the thread `pthread`, and its registers are the real ones */
    pthread_t pthread;
    int suspended; /* suspends without a resume */
    int rights;    /* to the port */
};

/* The letters of the log: S suspend, U resume, R registers, r read, t thread_times, i thread, l threads,
 * s self, d release, ! a call that failed. */
struct fake_mach {
    char log[FAKE_LOG_BYTES];
    unsigned calls;
    unsigned fail_at; /* the number of the call that fails, from 1; 0: none does */
    bool fail_after;  /* all calls after that one fail too */
    int fail_rc;
    size_t largest_read;
    int most_suspended; /* the most threads that were suspended at once */
    unsigned now_suspended;
    uint64_t suspend_ns; /* how long a suspend takes */
    uint64_t runs_ns;    /* how long a thread runs before its suspend takes effect */
    bool context_fails;  /* hd_crash_context_registers accesses memory that is not there */
};

extern struct fake_mach fake_mach;

/* Forgets all threads, and the log. */
void fake_mach_reset(void);
/* Forgets the log and the failures. */
void fake_mach_clear(void);
/* Adds a thread. `id` is the tid of a thread of this process, or a number that no thread has. */
struct fake_thread *fake_mach_add(uint64_t id);
/* Adds the calling thread as one that a signal stops. */
struct fake_thread *fake_mach_add_self(void);
struct fake_thread *fake_mach_thread(hd_port port);
/* The sum of all rights to ports. */
int fake_mach_rights(void);

#endif
