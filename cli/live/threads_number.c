/* SPDX-License-Identifier: MIT
 *
 * In a PID namespace of its own a process has other numbers for its threads.
 */
#include "cli/live/threads.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_status.h"

int live_threads_own_number(const struct live_threads *t, int tid) {
    char path[48];
    if (t->process->own_pid == t->process->pid) {
        return tid;
    }
    hd_proc_task_path(path, sizeof path, tid, "status");
    return (int)hd_proc_status_number(t->process->proc_fd, path, "NSpid:", 10);
}

int live_threads_called(const struct live_threads *t, int tid) {
    for (size_t i = 0; i < t->count; i++) {
        if (live_threads_own_number(t, hd_thread_id_tid(t->record[i].thread)) == tid) {
            return hd_thread_id_tid(t->record[i].thread);
        }
    }
    return 0;
}
