/* SPDX-License-Identifier: MIT
 *
 * The process that a probe reads: its files in /proc, its modules, and the functions to look for on its
 * stacks.
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

/* There is one context for each process that is read. Only one thread uses a context. */
struct hd_probe_context {
    int proc_fd; /* descriptor of the process's folder in /proc */
    int mem_fd;  /* descriptor of the process's file /proc/PID/mem */
    int pid;
    /* Converts `tid`, a thread id of the process's PID namespace, to our PID namespace. NULL: both are the
     * same namespace. */
    int (*thread_called)(void *arg, int tid);
    void *thread_arg;
    struct hd_modules *modules;
    uint64_t in_libc;            /* an address in the process's C library */
    struct hd_functions locks;   /* addresses of the functions that wait for locks */
    struct hd_functions replies; /* addresses of the functions that wait for replies of other processes */
    /* Offset of the thread's id in libc's thread descriptor (struct pthread); 0: unknown. linux/join.h
     * explains the use of this offset. */
    uint32_t descriptor_tid;
    /* Bit N is set: in libc's thread descriptor, 64-bit word N points to the descriptor itself. */
    uint32_t descriptor_self;
    /* Descriptors of the control group's files; negative: the kernel has no such file. hd_probe_context_init
     * opens all of them, hd_probe_context_init_other only throttled_fd. */
    int throttled_fd, pressure_fd[HD_PRESSURES], memory_used_fd, memory_limit_fd;
};

#endif
