/* SPDX-License-Identifier: MIT
 *
 * The last method of a sample: what the kernel shows of a thread, without a stack. On the monitor thread: no
 * allocation, no lock.
 */
#include <errno.h>
#include <string.h>

#include "capture/linux/method.h"
#include "os/os.h"

int hd_method_kernel(struct hd_target *t, struct hd_capture *out) {
    struct hd_proc_syscall call;
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_sched before = out->sched;
    enum hd_run_state state = HD_RUN_RUNNABLE;

    out->at_ns = hd_os_now_ns();
    out->way = HD_WAY_KERNEL;
    int rc = hd_thread_files_state(&t->files, &state);
    if (rc == -ESRCH || state == HD_RUN_GONE || hd_thread_clock_sched(&t->files, &out->sched) == -ESRCH) {
        return -ESRCH;
    }
    /* The thread's file `stat` shows R for a thread that runs and for one that waits for a CPU. If the
     * thread has not run since the sample began, it waits for a CPU. The function also checks the thread's
     * CPU clock, because the statistics of a running thread may be as old as the kernel's last tick. */
    bool ran = out->sched.slices != before.slices || !hd_thread_clock_rests(&t->files, &before);
    if (state == HD_RUN_RUNNABLE) { /* `state` is HD_RUN_RUNNABLE also if `stat` cannot be read */
        state = ran ? HD_RUN_RUNNING : rc < 0 ? HD_RUN_BLOCKED : state;
    }
    hd_thread_clock_refresh(&t->files, &out->sched);
    out->state = (uint8_t)state;
    out->no_space = t->request.no_space && (state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE);
    if (hd_thread_files_syscall(&t->files, text, &call) > 0 && call.where == HD_PROC_BLOCKED) {
        out->syscall_nr = call.nr;
        memcpy(out->syscall_args, call.args, sizeof out->syscall_args);
    }
    return 0;
}
