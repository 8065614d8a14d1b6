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
#include <string.h>
#include <sys/stat.h>

/* The namespace of a process ("self": our own); 0: it is gone, or does not let us look. */
static uint64_t space_of(const char *pid) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/ns/pid", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Its number in the innermost namespace, as it sees itself. */
static uint32_t innermost_number(const char *pid) {
    char path[64], line[256];
    uint32_t number = 0;
    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "NSpid:", 6) == 0) {
            number = (uint32_t)strtoul(strrchr(line, '\t') + 1, NULL, 10);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return number;
}

pid_t owner_here(const struct hd_record *c) {
    pid_t owner = (pid_t)atomic_load(&c->owner), found = 0;
    uint64_t space = atomic_load(&c->owner_space);
    if (space == 0 || space == space_of("self")) {
        return kill(owner, 0) == 0 || errno == EPERM ? owner : 0;
    }
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && found == 0 && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && space_of(e->d_name) == space &&
            innermost_number(e->d_name) == (uint32_t)owner) {
            found = (pid_t)strtol(e->d_name, NULL, 10);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}
