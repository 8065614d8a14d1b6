/* SPDX-License-Identifier: MIT
 *
 * The `stat` file of a process or a thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STAT_H
#define HD_PROC_STAT_H

#include "base/types.h"

struct hd_proc_stat {
    char state;                           /* letter of the state; 0: not known */
    bool alive;                           /* false for a zombie, which has all other values too */
    uint64_t ticks_outside, ticks_inside; /* clock ticks on a CPU in user mode and in the kernel */
    uint64_t flags, major_faults;
    uint64_t parent, group, terminal, terminal_group;
    uint64_t started_boot_ns; /* CLOCK_BOOTTIME, in steps of 10 ms */
};

/* Reads the values that a truncated text still has. A number counts only if a blank follows. */
struct hd_proc_stat hd_proc_stat_parse(const char *text);

/* `path` starts at the folder `proc_fd`. All zero where the file cannot be read. */
struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path);

/* The device number of this process's terminal; 0: no terminal, or not known. */
static inline uint64_t hd_own_terminal(int proc_fd) {
    return hd_proc_stat_read(proc_fd, "stat").terminal;
}

/* The number of page faults so far for which the thread waited for a disk; 0 also where not known. */
uint64_t hd_proc_stat_major_faults(int proc_fd, int tid);

#endif
