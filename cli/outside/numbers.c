/* SPDX-License-Identifier: MIT */
#include "cli/outside/numbers.h"

#include "cli/outside/watched.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_status.h"

int numbers_own(void *process, int tid) {
    const struct outside_process *p = process;
    char path[48];
    hd_proc_task_path(path, sizeof path, tid, "status");
    return (int)hd_proc_status_number(p->live.proc_fd, path, "NSpid:", 10);
}

int numbers_called(void *process, int own_tid) {
    const struct outside_process *p = process;
    for (const struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        if (numbers_own(process, t->tid) == own_tid) {
            return t->tid;
        }
    }
    return 0;
}
