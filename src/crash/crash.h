/* SPDX-License-Identifier: MIT
 *
 * Reports of crashes, off by default. The handler stores signal and registers, wakes the worker and waits for
 * the report. The worker unwinds the stack and writes the report, as for a hang. So the handler looks nothing
 * up, and needs neither the heap nor malloc's locks.
 */
#ifndef HD_CRASH_H
#define HD_CRASH_H

#include <stdatomic.h>

#include "base/types.h"
#include "os/thread_id.h"

#define HD_CRASH_WAIT_NS (3 * HD_NS_PER_S)   /* how long the handler waits for the report */
#define HD_CRASH_ANSWER_NS (HD_NS_PER_S / 5) /* how long the worker waits for the handler's answer */
#define HD_CRASH_TEXT_BYTES 256u

enum hd_crash_phase {
    HD_CRASH_NONE,
    HD_CRASH_STORING,   /* the thread that crashed first is storing signal and registers */
    HD_CRASH_STORED,    /* signal and registers are complete, and the worker may read them */
    HD_CRASH_REQUESTED, /* the worker wants the handler to call hd_crash.call */
    HD_CRASH_CALLED,
    HD_CRASH_WRITTEN, /* the report is on disk, and the handler may return */
};

struct hd_crash {
    _Atomic uint32_t phase; /* enum hd_crash_phase */
    hd_thread_id thread;
    int signal, code;
    uint64_t address; /* the address of the failed memory access or instruction; 0: the signal has none */
    uint64_t at_ns;
    struct hd_regs regs;
    void *(*call)(void); /* the function that hd_crash_call makes the crashed thread call */
    void *result;
};

/* The C++ exception that the program did not catch. Both texts end with a NUL; longer ones are truncated. */
struct hd_crash_exception {
    /* the mangled name of the exception's type, as in std::type_info; empty: there was no exception */
    char type[HD_CRASH_TEXT_BYTES];
    char what[HD_CRASH_TEXT_BYTES]; /* the text of the exception's what(); empty: not known */
};

/* Installs the handlers. After a crash, the handler adds one to the worker's futex word `wake` and wakes the
 * worker. `mach_exceptions`: on Apple's systems, also takes the exceptions of Mach. At start, on any thread.
 */
void hd_crash_begin(_Atomic uint32_t *wake, bool mach_exceptions);

/* Restores the earlier action of each signal that still has our handler. */
void hd_crash_end(void);

/* Returns the crash that waits for its report; NULL: there is none. On the worker thread. */
const struct hd_crash *hd_crash_taken(void);
/* Makes the crashed thread call `f`, which must be async-signal-safe, and returns the result of `f`. Returns
 * NULL if the thread does not answer in time. On the worker thread. */
void *hd_crash_call(void *(*f)(void));
/* Says that the report is written, so that the handler returns. On the worker thread. */
void hd_crash_written(void);

/* ---- private to src/crash ------------------------------------------------------------------- */

extern struct hd_crash hd_crash;
extern _Atomic uint32_t *_Atomic hd_crash_wake;

#endif
