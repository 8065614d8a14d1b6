/* SPDX-License-Identifier: MIT
 *
 * Ordinary code.
 */
#include "cli/base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "os/linux/proc_status.h"

bool proc_is_ours(void) {
    char own[16] = "";
    return readlink("/proc/self", own, sizeof own - 1) > 0 && strtol(own, NULL, 10) == (long)getpid();
}

static void path_of(char *path, size_t size, pid_t pid, const char *name) {
    if (pid != 0) {
        snprintf(path, size, "/proc/%d/%s", (int)pid, name);
    } else {
        snprintf(path, size, "/proc/self/%s", name);
    }
}

uint64_t proc_number(pid_t pid, const char *key, unsigned base) {
    char path[64];
    path_of(path, sizeof path, pid, "status");
    return hd_proc_status_number(AT_FDCWD, path, key, base);
}

struct hd_proc_stat proc_stat(pid_t pid) {
    char path[64];
    path_of(path, sizeof path, pid, "stat");
    return hd_proc_stat_read(AT_FDCWD, path);
}

uint64_t proc_started_wall_ns(pid_t pid) {
    struct timespec wall, boot;
    uint64_t started_ns = proc_stat(pid).started_boot_ns;
    if (started_ns == 0) {
        return 0;
    }
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    uint64_t up_ns = (uint64_t)boot.tv_sec * HD_NS_PER_S + (uint64_t)boot.tv_nsec;
    uint64_t now_ns = (uint64_t)wall.tv_sec * HD_NS_PER_S + (uint64_t)wall.tv_nsec;
    return now_ns - up_ns + started_ns;
}
