/* SPDX-License-Identifier: MIT
 *
 * The maps of the BPF programs, and how a program finds a thread's slot. For BPF programs.
 */
#ifndef HD_THREADS_H
#define HD_THREADS_H

#include "kernel.h"

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "slot.h"

const char call_prefix[] = CALL_PREFIX; /* of the kernel's functions of calls */

/* The loader sets these. */
const volatile unsigned char call_class[HD_CALLS]; /* enum hd_call_class by the call's number */
const volatile unsigned long long long_ns = 0;
const volatile unsigned int pid_namespace = 0; /* 0: numbers of the initial namespace */
const volatile bool all_calls = false;         /* fentry sees all calls; switches are for what began before */

unsigned long long watched[HD_WATCHED_BITS / 64];
unsigned long long lost; /* records for which the ring had no space */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* the loader sets it, and that of `tids` */
    __type(key, __u32);
    __type(value, struct hd_slot);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32); /* the slot */
} tids SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* The thread's number in the namespace of the hook; 0: it has none there. */
static __always_inline __u32 number_of(struct task_struct *t) {
    if (pid_namespace == 0) {
        return t->pid;
    }
    struct pid *pid = t->thread_pid;
    struct upid upid;
    unsigned int level = pid->level;
    for (unsigned int i = 0; i < 8 && i <= level; i++) {
        if (bpf_core_read(&upid, sizeof upid, &pid->numbers[i]) == 0) {
            unsigned int inum = 0;
            bpf_core_read(&inum, sizeof inum, &upid.ns->ns.inum);
            if (inum == pid_namespace) {
                return upid.nr;
            }
        }
    }
    return 0;
}

static __always_inline bool may_be_watched(__u32 number) {
    __u32 bit = number % HD_WATCHED_BITS;
    return (watched[bit / 64] >> (bit % 64) & 1) != 0;
}

static __always_inline struct hd_slot *slot_of(struct task_struct *t) {
    __u32 number = number_of(t);
    if (!may_be_watched(number)) {
        return 0;
    }
    __u32 *i = bpf_map_lookup_elem(&tids, &number);
    return i != 0 ? bpf_map_lookup_elem(&slots, i) : 0;
}

#endif
