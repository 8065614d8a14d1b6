/* SPDX-License-Identifier: MIT
 *
 * The mapping of Hangdog: this struct, the worker's memory behind it, and a record if the process has none.
 */
#ifndef HD_INSTANCE_PRIVATE_H
#define HD_INSTANCE_PRIVATE_H

#include <stddef.h>

#include "control/instance.h"
#include "monitor/monitor.h"
#include "os/arch/page.h"

#define HD_THREAD_STACK_BYTES (32u * 1024u + HD_OS_STACK_EXTRA)

struct hd_instance {
    struct hd_run_place place;
    struct hd_monitor monitor;
    struct hd_worker *worker;
    struct hd_os_thread monitor_thread, worker_thread;
    struct hd_run run;
    uint8_t monitor_stack[HD_THREAD_STACK_BYTES] __attribute__((aligned(HD_PAGE_BYTES)));
    uint8_t worker_stack[HD_THREAD_STACK_BYTES] __attribute__((aligned(HD_PAGE_BYTES)));
};

static inline struct hd_instance *hd_instance_of(struct hd_run *r) {
    return (struct hd_instance *)(void *)((uint8_t *)r - offsetof(struct hd_instance, run));
}

#endif
