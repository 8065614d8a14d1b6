/* SPDX-License-Identifier: MIT
 *
 * The text of /proc as values. Pure functions on bytes that may be cut anywhere, and the few that read them.
 * Monitor: no allocation, no lock. Async-signal-safe.
 */
#ifndef HD_PROC_TEXT_H
#define HD_PROC_TEXT_H

#include "base/types.h"

#define HD_PROC_SYSCALL_BYTES 256 /* 9 numbers of at most 20 characters */
#define HD_PROC_SCHED_BYTES 80

enum hd_proc_where {
    HD_PROC_RUNNING, /* on a processor, or waiting for one */
    HD_PROC_BLOCKED, /* off it: sp and pc are known */
    HD_PROC_ENDED,   /* it has no stack any more */
};

struct hd_proc_syscall {
    enum hd_proc_where where;
    int32_t nr; /* HD_SYSCALL_NONE: blocked elsewhere, a page fault say */
    uint64_t args[6];
    uint64_t sp;
    uint64_t pc;
};

#define HD_FILTERS_UNKNOWN UINT64_MAX /* there are some; Linux before 5.9 does not count them */

struct hd_proc_status {
    uint64_t blocked;   /* bit n - 1: signal n */
    uint64_t pending;   /* the thread's own and the process's */
    uint64_t voluntary; /* context switches */
    uint64_t involuntary;
    uint64_t filters; /* of seccomp, whose answer to a call may be the end of the process */
};

struct hd_proc_mapping {
    uint64_t start, end;
    bool readable, writable;
    bool main_stack; /* named [stack] */
};

/* Each returns false for text that is not of its form, and leaves *out alone then. */
bool hd_proc_parse_syscall(const char *text, size_t n, struct hd_proc_syscall *out);
bool hd_proc_parse_schedstat(const char *text, size_t n, struct hd_sched *out);
bool hd_proc_parse_status(const char *text, size_t n, struct hd_proc_status *out);
bool hd_proc_parse_mapping(const char *line, size_t n, struct hd_proc_mapping *out);

/* What the letter of `stat` says; R is told as runnable, since only the scheduling figures know more. */
enum hd_run_state hd_proc_run_state(char letter);

/* The mapping of this process that holds address `at`, or (0) the main thread's stack; and the path of its
 * file, empty if it has none (`path` may be NULL). -ENOENT: there is none. */
int hd_proc_find_mapping(int maps_fd, uint64_t at, struct hd_proc_mapping *out, char *path, size_t bytes);

#endif
