/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: a process is known by another number in each namespace of processes that it is in, and says
 * its own. What belongs together is found in /proc.
 */
#include "cli/owner.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/proc_of.h"

/* The namespace of a process ("self": our own); 0: it is gone, or does not let us look. */
static uint64_t space_of(const char *pid) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/ns/pid", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

pid_t owner_here(const struct hd_record *c) {
    pid_t owner = (pid_t)atomic_load(&c->owner), found = 0;
    uint64_t space = atomic_load(&c->owner_space);
    if (space == 0 || space == space_of("self")) {
        return kill(owner, 0) == 0 || errno == EPERM ? owner : 0;
    }
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && found == 0 && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && space_of(e->d_name) == space && proc_number(pid, "NSpid:", 10) == (uint64_t)owner) {
            found = pid;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}
