/* SPDX-License-Identifier: MIT
 *
 * The members of the kernel's structs that the BPF programs read. The loader looks up their places in the
 * types of the running kernel. Included by BPF programs only.
 */
#ifndef HD_KERNEL_H
#define HD_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

#define KERNEL_STRUCT __attribute__((preserve_access_index))

struct thread_info {
    unsigned long flags;
    __u32 status; /* x86 only */
} KERNEL_STRUCT;

struct ns_common {
    unsigned int inum;
} KERNEL_STRUCT;

struct pid_namespace {
    struct ns_common ns;
} KERNEL_STRUCT;

struct upid {
    int nr;
    struct pid_namespace *ns;
} KERNEL_STRUCT;

struct pid {
    unsigned int level;
    struct upid numbers[0];
} KERNEL_STRUCT;

struct file {
    void *private_data;
} KERNEL_STRUCT;

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} KERNEL_STRUCT;

struct files_struct {
    struct fdtable *fdt;
} KERNEL_STRUCT;

struct task_struct {
    struct thread_info thread_info;
    unsigned int __state;
    int pid;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    struct files_struct *files;
} KERNEL_STRUCT;

#include "arch/registers.h"

#endif
