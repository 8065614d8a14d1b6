/* SPDX-License-Identifier: MIT
 *
 * Crashes. The handler stores what is known, wakes the worker and waits for the report; the worker unwinds
 * and writes as it does for a hang. So nothing is looked up in the handler, and a broken heap or a lock of
 * malloc's does not matter. Off by default.
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
    HD_CRASH_STORING,   /* by the thread that crashed first */
    HD_CRASH_STORED,    /* for the worker */
    HD_CRASH_REQUESTED, /* by the worker: the handler is to call hd_crash.call */
    HD_CRASH_CALLED,
    HD_CRASH_WRITTEN, /* for the handler */
};

struct hd_crash {
    _Atomic uint32_t phase; /* enum hd_crash_phase */
    hd_thread_id thread;
    int signal, code;
    uint64_t address; /* that could not be accessed, or of the instruction; 0: the signal has none */
    uint64_t at_ns;
    struct hd_regs regs;
    void *(*call)(void);
    void *result;
};

/* The uncaught C++ exception; texts end with a NUL and are cut where they are longer. */
struct hd_crash_exception {
    char type[HD_CRASH_TEXT_BYTES]; /* mangled, as std::type_info has it; empty: there was none */
    char what[HD_CRASH_TEXT_BYTES]; /* empty: where it is is not known */
};

/* Installs the handlers. `wake`: the worker's word, which a crash adds one to. At start, on any thread. */
void hd_crash_begin(_Atomic uint32_t *wake);

/* Gives each signal back that still has our handler. */
void hd_crash_end(void);

/* A crash that waits for its report, NULL: none. Worker. */
const struct hd_crash *hd_crash_taken(void);
/* Lets the thread that crashed call `f`, which must be safe in a signal's handler. NULL: no answer. Worker.
 */
void *hd_crash_call(void *(*f)(void));
void hd_crash_written(void);

/* ---- private to src/crash ------------------------------------------------------------------- */

extern struct hd_crash hd_crash;
extern _Atomic uint32_t *_Atomic hd_crash_wake;
/* The action that a signal had before ours: the kernel's own struct. */
struct hd_kernel_action *hd_crash_before(int signal);
void hd_crash_on_signal(int signal, void *info, void *context);

#endif
