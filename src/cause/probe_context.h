/* SPDX-License-Identifier: MIT
 *
 * The process that probes read: its files in /proc, its modules, and the functions that probes look for.
 */
#ifndef HD_PROBE_CONTEXT_H
#define HD_PROBE_CONTEXT_H

#include "cause/evidence.h"
#include "image/functions.h"
#include "image/modules.h"

enum hd_pressure {
    HD_PRESSURE_MEMORY,
    HD_PRESSURE_CPU,
    HD_PRESSURE_IO,
    HD_PRESSURES
};

/* Each process that is read has one, and one thread uses it. */
struct hd_probe_context {
    int proc_fd; /* the process's folder in /proc */
    int mem_fd;  /* its memory */
    int pid;
    /* The thread whose id is `tid` in the PID namespace of the process; NULL: the namespace is ours. */
    int (*thread_called)(void *arg, int tid);
    void *thread_arg;
    struct hd_modules *modules;
    uint64_t in_libc;            /* an address in the C library */
    struct hd_functions locks;   /* functions that wait for locks */
    struct hd_functions replies; /* functions that wait for replies of other processes */
    uint32_t descriptor_tid;  /* offset of the thread's id in libc's descriptor of the thread; 0: unknown */
    uint32_t descriptor_self; /* bit N: word N of that descriptor points to the descriptor */
    /* Files of the control group; only the worker opens them. Negative: the kernel has no such file. */
    int throttled_fd, pressure_fd[HD_PRESSURES], memory_used_fd, memory_limit_fd;
};

#endif
