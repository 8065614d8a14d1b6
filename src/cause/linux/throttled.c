/* SPDX-License-Identifier: MIT */
#include "cause/linux/throttled.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

/* The group's path behind `list`, of controllers: "4:cpu,cpuacct:/a" or "0::/a". NULL: there is none. */
static const char *group_of(const char *groups, const char *list) {
    for (const char *at = groups; *at != '\0'; at++) {
        if (hd_proc_starts_with(at, list)) {
            return at + strlen(list);
        }
    }
    return NULL;
}

static int open_stat(const char *mount, const char *group) {
    char path[512];
    struct hd_text t;
    size_t length = 0;
    while (group[length] != '\n' && group[length] != '\0') {
        length++;
    }
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, mount);
    hd_text_mem(&t, group, length > 1 ? length : 0);
    hd_text_str(&t, "/cpu.stat");
    return hd_os_open(AT_FDCWD, path);
}

void hd_throttled_init(struct hd_probe_context *ctx) {
    char groups[1024];
    ctx->throttled_fd = -1;
    if (hd_proc_read(ctx->proc_fd, "cgroup", groups, sizeof groups) <= 0) {
        return;
    }
    static const struct {
        const char *line, *mount;
    } of[] = {{":cpu:", "/sys/fs/cgroup/cpu"},
              {":cpu,cpuacct:", "/sys/fs/cgroup/cpu,cpuacct"},
              {"0::", "/sys/fs/cgroup"}};
    for (unsigned i = 0; i < sizeof of / sizeof of[0] && ctx->throttled_fd < 0; i++) {
        const char *group = group_of(groups, of[i].line);
        if (group != NULL) {
            ctx->throttled_fd = open_stat(of[i].mount, group);
            if (ctx->throttled_fd < 0) { /* a container sees its own group as the root */
                ctx->throttled_fd = open_stat(of[i].mount, "/");
            }
        }
    }
}

uint64_t hd_throttled_ns(const struct hd_probe_context *ctx) {
    char text[1024];
    long n = ctx->throttled_fd >= 0 ? hd_os.pread(ctx->throttled_fd, text, sizeof text - 1, 0) : -1;
    if (n <= 0) {
        return 0;
    }
    text[n] = '\0';
    uint64_t time = 0;
    const char *ns = hd_proc_find_line(text, "throttled_time "),
               *us = hd_proc_find_line(text, "throttled_usec ");
    if (ns != NULL || us != NULL) {
        hd_proc_take_number(ns != NULL ? ns : us, &time);
    }
    return ns != NULL ? time : time * HD_NS_PER_US;
}
