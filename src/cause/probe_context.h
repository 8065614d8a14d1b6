/* SPDX-License-Identifier: MIT
 *
 * The process that Hangdog reads to fill a probe: its files in /proc, its modules, and the functions to look
 * for on its stacks.
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

/* The result of the last search in /proc, which was for the blocked call of one thread. A search may take 20
 * ms of CPU time, so samples of the same call do not repeat it. */
struct hd_found_party {
    uint64_t until_ns; /* valid until then (CLOCK_MONOTONIC) */
    uint64_t object;   /* the inode that the call works on; 0: a database */
    int tid;
    struct hd_evidence evidence;
    struct hd_party_seen party;
};

/* There is one context for each process that Hangdog reads. Only one thread uses a context. */
struct hd_probe_context {
    int proc_fd; /* descriptor of the process's folder in /proc */
    int mem_fd;  /* descriptor of the process's file /proc/PID/mem */
    int pid;
    /* Converts `tid`, a thread id in the process's PID namespace, to the id in Hangdog's own PID namespace.
     * NULL: both are the same namespace. */
    int (*thread_called)(void *arg, int tid);
    void *thread_arg;
    struct hd_modules *modules;
    uint64_t in_libc;            /* an address in the process's C library */
    struct hd_functions locks;   /* addresses of the functions that wait for locks */
    struct hd_functions replies; /* addresses of the functions that wait for replies of other processes */
    /* Offset of the thread's id in libc's thread descriptor (struct pthread); 0: unknown. linux/join.h
     * explains the use of this offset. */
    uint32_t descriptor_tid;
    /* In libc's thread descriptor the 64-bit word at byte `descriptor_link` points into the descriptor
     * itself, at byte `descriptor_linked`, if `descriptor_known`. */
    uint32_t descriptor_link;
    uint64_t descriptor_linked;
    bool descriptor_known;
    /* Descriptors of the files of the process's control group; negative: there is no such file.
     * hd_probe_context_init opens all these files. For another process, hd_probe_context_init_other opens
     * only the file of throttled_fd. */
    int throttled_fd, pressure_fd[HD_PRESSURES], memory_used_fd, memory_limit_fd;
    struct hd_found_party found_party;
};

#endif
