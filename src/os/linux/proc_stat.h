/* SPDX-License-Identifier: MIT
 *
 * Reads the `stat` file of a process or a thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STAT_H
#define HD_PROC_STAT_H

#include "base/types.h"

struct hd_proc_stat {
    char state; /* the letter of the thread's or process's state; 0: the file cannot be read */
    bool alive; /* false: the thread or process has ended, or is a zombie */
    /* The CPU time of the thread or process in clock ticks, in user mode and in the kernel. */
    uint64_t ticks_outside, ticks_inside;
    uint64_t flags, major_faults;
    uint64_t parent, group, session, terminal, terminal_group;
    uint64_t started_boot_ns; /* when the thread or process started (CLOCK_BOOTTIME), in steps of 10 ms */
};

/* Parses the text of a `stat` file of /proc. If the text is truncated, the numbers that it lacks are 0. A
 * number counts only if a blank follows it. */
struct hd_proc_stat hd_proc_stat_parse(const char *text);

/* Reads the file `path`, a `stat` file below the folder `proc_fd`. All values are 0 if the file cannot be
 * read. */
struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path);

/* Returns the device number of the process's terminal; 0: no terminal, or unknown. */
static inline uint64_t hd_own_terminal(int proc_fd) {
    return hd_proc_stat_read(proc_fd, "stat").terminal;
}

/* Returns the thread's number of major page faults, for each of which the kernel reads a disk. 0: none, or
 * unknown. */
uint64_t hd_proc_stat_major_faults(int proc_fd, int tid);

#endif
