/* SPDX-License-Identifier: MIT
 *
 * The last method of a sample: what the kernel shows of a thread, without a stack. On the monitor thread: no
 * allocation, no lock.
 */
#include "capture/darwin/method.h"

#include <errno.h>

#include "os/os.h"

int hd_method_kernel(struct hd_target *t, struct hd_capture *out) {
    struct hd_thread_clock now;
    out->at_ns = hd_os_now_ns();
    out->way = HD_WAY_KERNEL;
    int rc = hd_thread_clock_read(&t->files, &now);
    if (rc == 0) {
        out->sched = now.sched;
        out->state = now.state;
    } else {
        out->state = HD_RUN_RUNNING;
    }
    return rc == -ESRCH ? rc : 0;
}
