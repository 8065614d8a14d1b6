/* SPDX-License-Identifier: MIT
 *
 * The file `sched` has `se.exec_start`: when the scheduler last counted the task's CPU time. For a blocked
 * task that is the moment at which it left its CPU, by a clock of that CPU. The present value of that clock
 * is the same number of a task that runs there now: of the calling thread.
 */
#include "cli/live/last_ran.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/linux/proc_files.h"

#define CPU_FIELD 37u /* of `stat`, counted from the state, which is behind the name */

uint64_t last_ran_parse(const char *text) {
    const char *line = hd_proc_find_line(text, "se.exec_start");
    const char *colon = line != NULL ? strchr(line, ':') : NULL;
    double ms = colon != NULL ? strtod(colon + 1, NULL) : 0;
    return ms > 0 && ms < 1e13 ? (uint64_t)(ms * 1e6) : 0;
}

static int last_cpu(int proc_fd, int tid) {
    char text[1024];
    long n = hd_proc_read_task(proc_fd, tid, "stat", text, sizeof text);
    const char *at = n > 0 ? strrchr(text, ')') : NULL;
    for (unsigned field = 0; at != NULL && field < CPU_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? (int)strtol(at, NULL, 10) : -1;
}

static uint64_t read_ran(int proc_fd, int tid) {
    char text[1024]; /* the member is among the first */
    return hd_proc_read_task(proc_fd, tid, "sched", text, sizeof text) > 0 ? last_ran_parse(text) : 0;
}

/* The clock of a CPU now. 0: this thread may not run there, or the kernel has no such file. */
static uint64_t clock_of(int own_fd, int cpu) {
    cpu_set_t one;
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return 0;
    }
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        return 0;
    }
    sched_yield(); /* counts this thread's time up to now */
    return read_ran(own_fd, (int)gettid());
}

/* All threads that ran on one CPU. */
static void set_for_cpu(struct last_ran *item, size_t count, int own_fd, int cpu) {
    uint64_t now_ns = clock_of(own_fd, cpu);
    for (size_t i = 0; i < count; i++) {
        if (item[i].cpu == cpu && item[i].ran_ns != 0 && now_ns > item[i].ran_ns) {
            item[i].still_ns = now_ns - item[i].ran_ns;
        }
    }
}

static bool is_used(const struct last_ran *item, size_t count, int cpu) {
    for (size_t i = 0; i < count; i++) {
        if (item[i].cpu == cpu && item[i].ran_ns != 0) {
            return true;
        }
    }
    return false;
}

void last_ran_read(int proc_fd, struct last_ran *item, size_t count) {
    cpu_set_t before;
    int own_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < count; i++) {
        item[i].still_ns = 0;
        item[i].cpu = item[i].tid != 0 ? last_cpu(proc_fd, item[i].tid) : -1;
        item[i].ran_ns = item[i].tid != 0 ? read_ran(proc_fd, item[i].tid) : 0;
    }
    if (own_fd >= 0 && sched_getaffinity(0, sizeof before, &before) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (is_used(item, count, cpu)) {
                set_for_cpu(item, count, own_fd, cpu);
            }
        }
        sched_setaffinity(0, sizeof before, &before);
    }
    if (own_fd >= 0) {
        close(own_fd);
    }
}
