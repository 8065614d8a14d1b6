/* SPDX-License-Identifier: MIT */
#include "cli/outside/reads.h"

#include "capture/arch/thread_files.h"

int outside_reads(struct outside_process *p) {
    struct watcher *w = p->watcher;
    if (w->reads == p) {
        return 0;
    }
    int rc = hd_capture_process_open(p->live.proc_fd, p->live.pid);
    w->reads = rc == 0 ? p : NULL;
    return rc;
}

void outside_reads_no_more(struct watcher *w) {
    hd_capture_files_close();
    w->reads = NULL;
}
