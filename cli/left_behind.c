/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: daemons leave, and who started them sees nothing but a good end. A forked process has the
 * preload in its memory, and no record of its own; one that became another program has neither, and is not
 * ours to tell of.
 */
#include "cli/left_behind.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDS_WITHIN_MS 200

struct process {
    pid_t parent;
    unsigned long long started; /* in ticks since the machine's start */
};

static FILE *open_of(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

static bool read_process(pid_t pid, struct process *p) {
    char text[1024];
    FILE *file = open_of(pid, "stat");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[n] = '\0';
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || strlen(at) < 4) {
        return false;
    }
    at += 4; /* behind the state */
    p->parent = (pid_t)strtol(at, &at, 10);
    for (unsigned field = 5; field < 22; field++) {
        strtoll(at, &at, 10);
    }
    p->started = strtoull(at, NULL, 10);
    return true;
}

/* Has the preload, and with `unwatched` no record beside it. */
static bool has_preload(pid_t pid, const char *preload, bool unwatched) {
    FILE *maps = open_of(pid, "maps");
    char *line = NULL;
    size_t room = 0;
    bool library = false, record = false;
    while (maps != NULL && getline(&line, &room, maps) > 0) {
        library |= strstr(line, preload) != NULL;
        record |= strstr(line, "/memfd:hangdog") != NULL || strstr(line, ".record") != NULL;
    }
    free(line);
    if (maps != NULL) {
        fclose(maps);
    }
    return library && !(unwatched && record);
}

/* The first that is found, 0 where there is none. */
static pid_t find(const char *preload, struct process *found) {
    DIR *dir = opendir("/proc");
    struct process own, one;
    pid_t pid = 0;
    if (dir == NULL || !read_process(getpid(), &own)) {
        own.started = UINT64_MAX;
    }
    for (const struct dirent *e; dir != NULL && pid == 0 && (e = readdir(dir)) != NULL;) {
        pid_t at = (pid_t)strtol(e->d_name, NULL, 10);
        /* that of another run, which is watched and may have forked too, has its parent still */
        if (at > 0 && read_process(at, &one) && one.started >= own.started &&
            has_preload(at, preload, true) && !has_preload(one.parent, preload, false)) {
            pid = at;
            *found = one;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return pid;
}

pid_t left_behind(const char *preload) {
    struct process seen;
    if (find(preload, &seen) == 0) {
        return 0;
    }
    usleep(ENDS_WITHIN_MS *
           1000); /* many end when they see that their parent has, as one that forks twice does */
    return find(preload, &seen);
}
