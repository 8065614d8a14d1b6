/* SPDX-License-Identifier: MIT
 *
 * Installs all handlers of crashes at start, and removes them at stop.
 */
#include "crash/crash.h"
#include "crash/darwin/crash_handler.h"
#include "crash/darwin/exception.h"

void hd_crash_begin(_Atomic uint32_t *wake) {
    atomic_store(&hd_crash.phase, HD_CRASH_NONE);
    atomic_store(&hd_crash_wake, wake);
    hd_crash_exceptions_install();
    hd_crash_handlers_install();
}

void hd_crash_end(void) {
    if (atomic_exchange(&hd_crash_wake, NULL) != NULL) {
        hd_crash_handlers_remove();
        hd_crash_exceptions_remove();
    }
}
