/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_stat.h"

#include <string.h>

#include "base/text.h"
#include "os/linux/proc_files.h"

struct hd_proc_stat hd_proc_stat_parse(const char *text) {
    struct hd_proc_stat p = {0};
    const char *at = text + strlen(text);
    /* Finds the last ')', since the thread's name may contain a ')' too. */
    for (; at > text && *at != ')'; at--) {
    }
    if (at == text || at[1] != ' ' || at[2] == '\0' || at[3] != ' ') {
        return p;
    }
    p.state = at[2];
    p.alive = p.state != 'Z' && p.state != 'X';
    at += 4;
    for (unsigned field = 4; field <= 22; field++) {
        uint64_t value;
        hd_text_take_number(at, &value); /* reads -1, which means a terminal without a group, as 0 */
        for (; *at != ' ' && *at != '\0'; at++) {
        }
        if (*at++ == '\0') {
            break;
        }
        p.parent = field == 4 ? value : p.parent;
        p.group = field == 5 ? value : p.group;
        p.session = field == 6 ? value : p.session;
        p.terminal = field == 7 ? value : p.terminal;
        p.terminal_group = field == 8 ? value : p.terminal_group;
        p.flags = field == 9 ? value : p.flags;
        p.major_faults = field == 12 ? value : p.major_faults;
        p.ticks_outside = field == 14 ? value : p.ticks_outside;
        p.ticks_inside = field == 15 ? value : p.ticks_inside;
        p.started_boot_ns = field == 22 ? value * (HD_NS_PER_S / 100) : p.started_boot_ns;
    }
    return p;
}

struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path) {
    char text[512];
    (void)hd_proc_read(proc_fd, path, text, sizeof text);
    return hd_proc_stat_parse(text);
}

uint64_t hd_proc_stat_major_faults(int proc_fd, int tid) {
    char path[48];
    hd_proc_task_path(path, sizeof path, tid, "stat");
    return hd_proc_stat_read(proc_fd, path).major_faults;
}
