/* SPDX-License-Identifier: MIT
 *
 * Crashes. The handler stores signal and registers, wakes the worker and waits for the report. The worker
 * unwinds and writes as for a hang. So the handler looks nothing up, and needs neither the heap nor malloc's
 * locks. Off by default.
 */
#ifndef HD_CRASH_H
#define HD_CRASH_H

#include <stdatomic.h>

#include "base/types.h"
#include "os/thread_id.h"

#define HD_CRASH_WAIT_NS (3 * HD_NS_PER_S)   /* the handler waits so long for the report */
#define HD_CRASH_ANSWER_NS (HD_NS_PER_S / 5) /* the worker waits so long for the handler's answer */
#define HD_CRASH_TEXT_BYTES 256u

enum hd_crash_phase {
    HD_CRASH_NONE,
    HD_CRASH_STORING,   /* the thread that crashed first stores signal and registers */
    HD_CRASH_STORED,    /* the worker may read them */
    HD_CRASH_REQUESTED, /* the worker wants the handler to call hd_crash.call */
    HD_CRASH_CALLED,
    HD_CRASH_WRITTEN, /* the report is on disk, and the handler may return */
};

struct hd_crash {
    _Atomic uint32_t phase; /* enum hd_crash_phase */
    hd_thread_id thread;
    int signal, code;
    uint64_t address; /* of the failed access, or of the instruction; 0: the signal has no address */
    uint64_t at_ns;
    struct hd_regs regs;
    void *(*call)(void);
    void *result;
};

/* The uncaught C++ exception. Both texts end with a NUL; longer ones are truncated. */
struct hd_crash_exception {
    char type[HD_CRASH_TEXT_BYTES]; /* mangled, as in std::type_info; empty: there was no exception */
    char what[HD_CRASH_TEXT_BYTES]; /* empty: not known */
};

/* Installs the handlers. A crash adds one to the worker's futex word `wake`. At start, on any thread. */
void hd_crash_begin(_Atomic uint32_t *wake);

/* Restores the earlier action of each signal that still has our handler. */
void hd_crash_end(void);

/* The crash that waits for its report; NULL: there is no crash. Worker. */
const struct hd_crash *hd_crash_taken(void);
/* Makes the crashed thread call `f`, which must be async-signal-safe, and returns the result. NULL: no
 * answer. Worker. */
void *hd_crash_call(void *(*f)(void));
void hd_crash_written(void);

/* ---- private to src/crash ------------------------------------------------------------------- */

extern struct hd_crash hd_crash;
extern _Atomic uint32_t *_Atomic hd_crash_wake;
/* The action of a signal before ours. */
struct hd_kernel_action *hd_crash_before(int signal);
void hd_crash_on_signal(int signal, void *info, void *context);

#endif
