/* SPDX-License-Identifier: MIT */
#include "cause/pressure.h"

#include <fcntl.h>

#include "base/text.h"
#include "cause/linux/control_group.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

/* A control group of version 1 without a limit shows a larger number than this as its limit. */
#define NO_LIMIT (UINT64_C(1) << 60)

static int open_pressure(const char *groups, unsigned i) {
    static const char mounts[][24] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static const char files[HD_PRESSURES][2][24] = {
        [HD_PRESSURE_MEMORY] = {"/memory.pressure", "/proc/pressure/memory"},
        [HD_PRESSURE_CPU] = {"/cpu.pressure", "/proc/pressure/cpu"},
        [HD_PRESSURE_IO] = {"/io.pressure", "/proc/pressure/io"}};
    int fd = -1;
    for (unsigned k = 0; k < 2 && fd < 0; k++) {
        fd = hd_control_group_open(groups, "0::", mounts[k], files[i][0]);
    }
    return fd >= 0 ? fd : hd_os_open(AT_FDCWD, files[i][1]);
}

void hd_pressure_init(struct hd_probe_context *ctx) {
    char groups[1024] = "";
    static const char version1[] = "/sys/fs/cgroup/memory", version2[] = "/sys/fs/cgroup";
    hd_proc_read(ctx->proc_fd, "cgroup", groups, sizeof groups);
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        ctx->pressure_fd[i] = open_pressure(groups, i);
    }
    ctx->memory_used_fd = hd_control_group_open(groups, ":memory:", version1, "/memory.usage_in_bytes");
    ctx->memory_limit_fd = hd_control_group_open(groups, ":memory:", version1, "/memory.limit_in_bytes");
    if (ctx->memory_used_fd < 0) {
        ctx->memory_used_fd = hd_control_group_open(groups, "0::", version2, "/memory.current");
        ctx->memory_limit_fd = hd_control_group_open(groups, "0::", version2, "/memory.max");
    }
}

/* Returns for how long some task waited, in nanoseconds. Reads this total, in microseconds, from a pressure
 * file's line "some avg10=0.00 avg60=0.00 avg300=0.00 total=353960". */
static uint64_t stall_ns(int fd) {
    char text[256];
    uint64_t us = 0;
    long n = fd >= 0 ? hd_os.pread(fd, text, sizeof text - 1, 0) : -1;
    if (n > 0) {
        text[n] = '\0';
        const char *at = hd_proc_starts_with(text, "some ") ? text : "";
        while (*at != '\0' && *at != '\n' && !hd_proc_starts_with(at, "total=")) {
            at++;
        }
        if (*at == 't') {
            hd_text_take_number(at + sizeof "total=" - 1, &us);
        }
    }
    return us * HD_NS_PER_US;
}

void hd_pressure_read(const struct hd_probe_context *ctx, uint64_t stalls_ns[HD_PRESSURES]) {
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        stalls_ns[i] = stall_ns(ctx->pressure_fd[i]);
    }
}

void hd_pressure_memory(const struct hd_probe_context *ctx, uint64_t *used, uint64_t *limit) {
    /* the text "max", which means no limit, reads as 0 */
    uint64_t most = hd_control_group_number(ctx->memory_limit_fd, "");
    *limit = most < NO_LIMIT ? most : 0;
    *used = *limit != 0 ? hd_control_group_number(ctx->memory_used_fd, "") : 0;
}

uint64_t hd_pressure_major_faults(const struct hd_probe_context *ctx, hd_thread_id thread) {
    return hd_proc_stat_major_faults(ctx->proc_fd, hd_thread_id_tid(thread));
}
