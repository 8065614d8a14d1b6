/* SPDX-License-Identifier: MIT */
#include "cli/doctor/unit_processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/proc.h"

#define YOUNG_S 5
#define NS_PER_S 1000000000

/* "0::/system.slice/NAME.service", perhaps with groups below it. */
static bool is_in_group(pid_t pid, const char *name) {
    char path[64], *line = NULL;
    size_t room = 0, n = strlen(name);
    bool is = false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && !is && getline(&line, &room, file) > 0) {
        for (const char *at = line; !is && (at = strstr(at, name)) != NULL; at += n) {
            is = at > line && at[-1] == '/' && strchr("/\n", at[n]) != NULL;
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return is;
}

static bool is_young(pid_t pid) {
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (time_t)(proc_stat(pid).started_boot_ns / NS_PER_S) + YOUNG_S > now.tv_sec;
}

struct unit_processes unit_processes_find(const char *name) {
    struct unit_processes found = {0};
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid <= 0 || !is_in_group(pid, name)) {
            continue;
        }
        uid_t user = (uid_t)proc_number(pid, "Uid:", 10);
        found.count++;
        found.young |= is_young(pid);
        if (user != 0 && !found.has_user) {
            found.has_user = true;
            found.user = user;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}
