/* SPDX-License-Identifier: MIT
 *
 * This system has no statistics of stalls for memory and disks, and no page faults of a single thread. It has
 * the memory and the page-ins of the process, and how long the process's threads had no CPU.
 */
#include "cause/pressure.h"

#include "os/darwin/mach.h"

void hd_pressure_init(struct hd_probe_context *ctx) {
    (void)ctx;
}

void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stall_ns[HD_PRESSURES]) {
    struct hd_mach_task task;
    (void)ctx;
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        stall_ns[i] = 0;
    }
    if (hd_mach.task(&task) == 0) {
        stall_ns[HD_PRESSURE_CPU] = task.cpu_wait_ns;
    }
}

void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit) {
    struct hd_mach_task task;
    (void)ctx;
    *used = *limit = 0;
    if (hd_mach.task(&task) == 0 && task.limit_remaining_bytes != 0) {
        *used = task.footprint_bytes;
        *limit = task.footprint_bytes + task.limit_remaining_bytes;
    }
}

uint64_t hd_pressure_major_faults(const struct hd_probe_context *ctx, hd_thread_id thread) {
    struct hd_mach_task task;
    (void)ctx;
    (void)thread;
    return hd_mach.task(&task) == 0 ? task.page_ins : 0;
}
