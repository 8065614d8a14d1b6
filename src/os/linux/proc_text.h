/* SPDX-License-Identifier: MIT
 *
 * Parses the texts of files of /proc/PID/task/TID. A text may be truncated anywhere. The functions are pure,
 * but hd_proc_find_mapping reads a file. Any thread; async-signal-safe; no allocation, no lock.
 */
#ifndef HD_PROC_TEXT_H
#define HD_PROC_TEXT_H

#include "base/types.h"

#define HD_PROC_SYSCALL_BYTES 256 /* enough for the file `syscall`: 9 numbers of at most 20 characters */
#define HD_PROC_SCHED_BYTES 80

enum hd_proc_where {
    HD_PROC_RUNNING, /* the thread is on a CPU, or runnable */
    HD_PROC_BLOCKED, /* the thread is off the CPU; sp and pc are valid */
    HD_PROC_ENDED,   /* the thread has ended, and has no stack any more */
};

/* The file `syscall`. */
struct hd_proc_syscall {
    enum hd_proc_where where;
    int32_t nr; /* the system call; HD_SYSCALL_NONE: none, for example in a page fault */
    uint64_t args[6];
    uint64_t sp;
    uint64_t pc;
};

#define HD_FILTERS_UNKNOWN UINT64_MAX /* seccomp filters exist; Linux before 5.9 does not say how many */

/* The file `status`. */
struct hd_proc_status {
    uint64_t blocked; /* bit n - 1 is set: the thread blocks signal n */
    uint64_t pending; /* bit n - 1 is set: signal n is pending for the thread or the process */
    /* The number of context switches at which the thread itself gave up the CPU, for example to block. */
    uint64_t voluntary;
    uint64_t involuntary;
    /* Number of the thread's seccomp filters; a filter may kill the process for a system call. */
    uint64_t filters;
};

/* One line of the file `maps`. */
struct hd_proc_mapping {
    uint64_t start, end;
    bool readable, writable;
    bool main_stack; /* true: the mapping's name is [stack] */
};

/* Each of the four functions returns false if the text does not have the form that the file in /proc has. In
 * this case the function leaves *out unchanged. */
bool hd_proc_parse_syscall(const char *text, size_t n, struct hd_proc_syscall *out);
bool hd_proc_parse_schedstat(const char *text, size_t n, struct hd_sched *out);
bool hd_proc_parse_status(const char *text, size_t n, struct hd_proc_status *out);
bool hd_proc_parse_mapping(const char *line, size_t n, struct hd_proc_mapping *out);

/* Returns a thread's state from the letter in the thread's file `stat`. The letter R gives HD_RUN_RUNNABLE,
 * since only the file `schedstat` distinguishes running from runnable. */
enum hd_run_state hd_proc_run_state(char letter);

/* Finds in a process's `maps` file the mapping that contains address `at`. If `at` is 0, finds the main
 * thread's stack. Stores the path of the mapped file in `path`, or an empty text if there is no file; `path`
 * may be NULL. Returns 0, -ENOENT (no such mapping), or the negative errno value of a failed read. */
int hd_proc_find_mapping(int maps_fd, uint64_t at, struct hd_proc_mapping *out, char *path, size_t bytes);

#endif
