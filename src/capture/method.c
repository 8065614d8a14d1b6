/* SPDX-License-Identifier: MIT
 *
 * The array of the capture methods, and the helpers that they share. On the monitor or worker thread: no
 * allocation, no lock.
 */
#include "capture/method.h"

#include <string.h>

#include "capture/arch/method.h"

#include "os/os.h"

#define ROW(name) {#name, hd_method_##name},
const struct hd_capture_method hd_methods[] = {HD_METHODS(ROW){"", NULL}};

void hd_method_reset(struct hd_capture *out) {
    uint64_t at_ns = out->at_ns;
    struct hd_sched sched = out->sched;
    memset(out, 0, sizeof *out);
    out->at_ns = at_ns;
    out->sched = sched;
    out->syscall_nr = HD_SYSCALL_NONE;
}

int hd_method_begin_attempt(struct hd_target *t, struct hd_capture *out) {
    out->at_ns = hd_os_now_ns();
    int rc = hd_thread_clock_read(&t->files, &t->clock);
    out->sched = t->clock.sched;
    hd_method_reset(out);
    return rc;
}
