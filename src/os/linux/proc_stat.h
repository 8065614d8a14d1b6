/* SPDX-License-Identifier: MIT
 *
 * The `stat` file of a process or a thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STAT_H
#define HD_PROC_STAT_H

#include "base/types.h"

struct hd_proc_stat {
    char state;                           /* its letter; 0: not known */
    bool alive;                           /* not a zombie, of which the rest is known, too */
    uint64_t ticks_outside, ticks_inside; /* in which it ran outside of the kernel, and inside */
    uint64_t flags, major_faults;
    uint64_t parent, group, terminal, terminal_group;
    uint64_t started_boot_ns; /* CLOCK_BOOTTIME, 10 ms steps */
};

/* As far as the terminated text goes: the last number of one that is cut counts only with a blank behind it.
 */
struct hd_proc_stat hd_proc_stat_parse(const char *text);

/* `path`: below the folder `proc_fd`. All zero where the file cannot be read. */
struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path);

/* The device number of the process's terminal, as the kernel tells it; 0: it has none, or it is not known. */
static inline uint64_t hd_own_terminal(int proc_fd) {
    return hd_proc_stat_read(proc_fd, "stat").terminal;
}

/* The pages that a thread has had to wait for, ever; 0: that is not known. */
uint64_t hd_proc_stat_major_faults(int proc_fd, int tid);

#endif
