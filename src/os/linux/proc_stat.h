/* SPDX-License-Identifier: MIT
 *
 * Reads the `stat` file of a process or a thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STAT_H
#define HD_PROC_STAT_H

#include "base/types.h"

struct hd_proc_stat {
    char state; /* the letter of the state; 0: the file cannot be read */
    bool alive; /* false: the thread or process has ended, or is a zombie */
    /* Clock ticks that the thread or process spent on a CPU, in user mode and in the kernel. */
    uint64_t ticks_outside, ticks_inside;
    uint64_t flags, major_faults;
    uint64_t parent, group, terminal, terminal_group;
    uint64_t started_boot_ns; /* the start time (CLOCK_BOOTTIME), in steps of 10 ms */
};

/* Parses the text of a `stat` file. If the text is truncated, the numbers that it lacks are 0. A number
 * counts only if a blank follows. */
struct hd_proc_stat hd_proc_stat_parse(const char *text);

/* Reads the file `path`, a `stat` file below the folder `proc_fd`. All values are 0 if the file cannot be
 * read. */
struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path);

/* Returns the device number of the process's terminal; 0: no terminal, or unknown. */
static inline uint64_t hd_own_terminal(int proc_fd) {
    return hd_proc_stat_read(proc_fd, "stat").terminal;
}

/* Returns the number of page faults for which the thread has waited for a disk; 0: none, or unknown. */
uint64_t hd_proc_stat_major_faults(int proc_fd, int tid);

#endif
