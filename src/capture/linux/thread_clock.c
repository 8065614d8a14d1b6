/* SPDX-License-Identifier: MIT
 *
 * Reads a thread's scheduling statistics: from schedstat or, without that file, from the thread's CPU clock
 * and its number of context switches.
 */
#include "capture/thread_clock.h"

#include <errno.h>

#include "capture/linux/signal_request.h"
#include "os/os.h"

/* Reads the thread's scheduling statistics. Returns what they prove (enum hd_clock_proves), or an error. */
static int read_sched(const struct hd_thread_files *f, struct hd_sched *out) {
    char text[HD_PROC_SCHED_BYTES];
    struct hd_proc_status status;
    long n = hd_thread_files_schedstat(f, text, sizeof text);

    if (n > 0 && hd_proc_parse_schedstat(text, (size_t)n, out) && hd_sched_known(out)) {
        return HD_CLOCK_REST;
    }
    *out = (struct hd_sched){0};
    int rc = n == -ESRCH ? -ESRCH : hd_thread_files_cpu(f, &out->cpu_ns);
    if (rc < 0 && rc != -ENOTSUP) {
        return rc;
    }
    rc = hd_thread_files_status(f, &status);
    out->slices = rc < 0 ? 0 : 1 + status.voluntary + status.involuntary;
    return rc < 0 ? rc : HD_CLOCK_LEAVING;
}

int hd_thread_clock_read(const struct hd_thread_files *f, struct hd_thread_clock *out) {
    int rc = read_sched(f, &out->sched);
    out->proves = rc < 0 ? HD_CLOCK_NOTHING : (enum hd_clock_proves)rc;
    return rc < 0 ? rc : 0;
}

int hd_thread_clock_sched(const struct hd_thread_files *f, struct hd_sched *out) {
    int rc = read_sched(f, out);
    return rc < 0 ? rc : 0;
}

bool hd_thread_clock_rests(const struct hd_thread_files *f, const struct hd_sched *since) {
    uint64_t cpu_ns = hd_thread_files_cpu_ns(f);
    return cpu_ns != 0 && cpu_ns == since->cpu_ns;
}

void hd_thread_clock_refresh(const struct hd_thread_files *f, struct hd_sched *sched) {
    uint64_t cpu_ns = hd_thread_files_cpu_ns(f);
    if (cpu_ns > sched->cpu_ns) {
        /* Never set cpu_ns back. The thread's CPU clock may show less than the statistics, because that
         * clock may stop while a hypervisor takes the CPU away. */
        sched->cpu_ns = cpu_ns;
    }
}

/* Returns whether this process may read memory by a system call. The signal handler does so to repair a
 * system call that our signal interrupted. */
static bool may_read_memory(void) {
    char byte, copy;
    return hd_os.read_memory(hd_os.get_pid(), (uint64_t)(uintptr_t)&byte, &copy, 1) == 1;
}

/* The library cannot know which system calls a filter forbids. So it passes HD_FILTERS_UNKNOWN if there is
 * any filter. */
void hd_thread_clock_open_own(struct hd_thread_files *own, bool calls_tried) {
    struct hd_proc_status status = {.filters = HD_FILTERS_UNKNOWN};
    (void)hd_thread_files_open(own, hd_thread_id_self());
    (void)hd_thread_files_status(own, &status);
    hd_capture_filters_are(status.filters == 0 || (calls_tried && may_read_memory()) ? status.filters
                                                                                     : HD_FILTERS_UNKNOWN);
    int schedstat_fd = own->schedstat_fd;
    own->schedstat_fd = -1;
    hd_thread_files_close(own);
    own->schedstat_fd = schedstat_fd;
}
