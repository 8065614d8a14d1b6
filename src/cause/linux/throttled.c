/* SPDX-License-Identifier: MIT */
#include "cause/throttled.h"

#include "cause/linux/control_group.h"
#include "os/linux/proc_files.h"

void hd_throttled_init(struct hd_probe_context *ctx) {
    char groups[1024];
    ctx->throttled_fd = -1;
    if (hd_proc_read(ctx->proc_fd, "cgroup", groups, sizeof groups) <= 0) {
        return;
    }
    static const char of[][2][28] = {{":cpu:", "/sys/fs/cgroup/cpu"},
                                     {":cpu,cpuacct:", "/sys/fs/cgroup/cpu,cpuacct"},
                                     {"0::", "/sys/fs/cgroup"}};
    for (unsigned i = 0; i < sizeof of / sizeof of[0] && ctx->throttled_fd < 0; i++) {
        ctx->throttled_fd = hd_control_group_open(groups, of[i][0], of[i][1], "/cpu.stat");
    }
}

uint64_t hd_throttled_ns(const struct hd_probe_context *ctx) {
    uint64_t ns = hd_control_group_number(ctx->throttled_fd, "throttled_time ");
    return ns != 0 ? ns : hd_control_group_number(ctx->throttled_fd, "throttled_usec ") * HD_NS_PER_US;
}
