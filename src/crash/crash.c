/* SPDX-License-Identifier: MIT
 *
 * Passes the crash from the handler, which is the system's, to the worker.
 */
#include "crash/crash.h"

#include <errno.h>

#include "os/os.h"

struct hd_crash hd_crash;
_Atomic uint32_t *_Atomic hd_crash_wake;

const struct hd_crash *hd_crash_taken(void) {
    return atomic_load_explicit(&hd_crash.phase, memory_order_acquire) == HD_CRASH_STORED ? &hd_crash : NULL;
}

void *hd_crash_call(void *(*f)(void)) {
    uint64_t until_ns = hd_os_now_ns() + HD_CRASH_ANSWER_NS;
    hd_crash.call = f;
    atomic_store_explicit(&hd_crash.phase, HD_CRASH_REQUESTED, memory_order_release);
    hd_os.futex_wake((uint32_t *)&hd_crash.phase, INT32_MAX, false);
    while (atomic_load_explicit(&hd_crash.phase, memory_order_acquire) == HD_CRASH_REQUESTED) {
        if (hd_os.futex_wait((uint32_t *)&hd_crash.phase, HD_CRASH_REQUESTED, until_ns, false) ==
            -ETIMEDOUT) {
            return NULL;
        }
    }
    return hd_crash.result;
}

void hd_crash_written(void) {
    atomic_store_explicit(&hd_crash.phase, HD_CRASH_WRITTEN, memory_order_release);
    hd_os.futex_wake((uint32_t *)&hd_crash.phase, INT32_MAX, false);
}
