/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_stat.h"

#include <string.h>

#include "os/linux/proc_files.h"

struct hd_proc_stat hd_proc_stat_read(int proc_fd, const char *path) {
    char text[512];
    struct hd_proc_stat p = {0};
    if (hd_read_text(proc_fd, path, text, sizeof text) <= 0) {
        return p;
    }
    const char *at = text + strlen(text);
    for (; at > text && *at != ')'; at--) {
    }
    if (at == text || at[1] == '\0') {
        return p;
    }
    p.alive = at[2] != 'Z' && at[2] != 'X';
    at += 2; /* field 3 */
    for (unsigned field = 3; field <= 22 && *at != '\0'; field++) {
        uint64_t value;
        hd_take_number(at, &value); /* a terminal's group of -1 is 0 */
        p.parent = field == 4 ? value : p.parent;
        p.group = field == 5 ? value : p.group;
        p.terminal = field == 7 ? value : p.terminal;
        p.terminal_group = field == 8 ? value : p.terminal_group;
        p.major_faults = field == 12 ? value : p.major_faults;
        p.started_boot_ns = field == 22 ? value * (HD_NS_PER_S / 100) : p.started_boot_ns;
        for (; *at != ' ' && *at != '\0'; at++) {
        }
        at += *at == ' ';
    }
    return p;
}

uint64_t hd_major_faults(int proc_fd, int tid) {
    char path[48];
    hd_task_path(path, sizeof path, tid, "stat");
    return hd_proc_stat_read(proc_fd, path).major_faults;
}
