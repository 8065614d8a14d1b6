/* SPDX-License-Identifier: MIT
 *
 * What probes need of the process: its files in /proc, its modules, the functions that they look for.
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

/* What the questions need of the process; made once, on the worker. */
struct hd_probe_context {
    int proc_fd; /* /proc/self, kept; or another process's folder */
    int mem_fd;
    int pid;
    /* The thread that calls itself `tid` in its namespace of processes; NULL: that is its id here, too. */
    int (*thread_called)(void *arg, int tid);
    void *thread_arg;
    struct hd_modules *modules;
    uint64_t in_libc;            /* an address of the C library */
    struct hd_functions locks;   /* which functions wait for locks */
    struct hd_functions replies; /* which functions ask other processes */
    uint32_t descriptor_tid;     /* where libc's descriptor of a thread has its number; 0: not known */
    uint32_t descriptor_self;    /* which of its first words point to itself, by bit */
    int throttled_fd;
    int pressure_fd[HD_PRESSURES], memory_used_fd, memory_limit_fd; /* the worker's alone */
};

#endif
