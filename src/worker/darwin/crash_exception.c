/* SPDX-License-Identifier: MIT
 *
 * The handlers of the runtimes have stored the exception before the crash. On the worker thread.
 */
#include "worker/crash_exception.h"

#include "crash/darwin/exception.h"

void hd_crash_exception_read(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                             struct hd_crash_exception *out) {
    (void)m;
    (void)frames;
    (void)count;
    const struct hd_crash *crash = hd_crash_taken();
    if (crash != NULL) {
        (void)hd_crash_exception_seen(crash, out);
    }
}
