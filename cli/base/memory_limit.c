/* SPDX-License-Identifier: MIT
 * Reads cgroups of versions 1 and 2 at their usual mount points. A container may see the host's path of its
 * cgroup, but only its own part of the tree. Then the top of that part has the limit.
 */
#include "cli/base/memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PATH_BYTES 4096
#define NONE_BYTES ((uint64_t)INT64_MAX / 2) /* version 1 has a number for no limit, too */
#define DATA_BYTES_MAX (UINT64_C(1) << 30)   /* a few megabytes of a hostile file ask for as many gigabytes */

struct version {
    const char *line; /* text after the first number of a line in /proc/self/cgroup */
    const char *mount, *most, *high, *used;
    const char *cached[2]; /* names in memory.stat of memory that the kernel can reclaim */
    const char *events;    /* has a line oom_kill */
};

static const struct version versions[] = {
    {"::/",
     "/sys/fs/cgroup",
     "memory.max",
     "memory.high",
     "memory.current",
     {"inactive_file ", "active_file "},
     "memory.events"},
    {":memory:/",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "},
     "memory.oom_control"},
};

static uint64_t number(const char *text, uint64_t otherwise) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    return end != text ? value : otherwise;
}

/* The number behind `name`, or at the file's begin. */
static uint64_t read_number(const char *folder, const char *file, const char *name, uint64_t otherwise) {
    char path[PATH_BYTES + 64], line[256];
    uint64_t found = otherwise;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            found = number(line + strlen(name), otherwise);
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static uint64_t room_in(const struct version *v, const char *folder) {
    uint64_t most = read_number(folder, v->most, "", UINT64_MAX); /* version 2 says "max" */
    uint64_t high = read_number(folder, v->high, "",
                                UINT64_MAX); /* above this the kernel throttles all processes of the cgroup */
    uint64_t used = read_number(folder, v->used, "", 0);
    most = high < most ? high : most;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t cached = read_number(folder, "memory.stat", v->cached[i], 0);
        used -= cached < used ? cached : used;
    }
    return most > NONE_BYTES ? UINT64_MAX : used < most ? most - used : 0;
}

/* From a group to the one that it is in; false: it was the top. */
static bool go_up(char *folder, size_t top) {
    if (strlen(folder) <= top) {
        return false;
    }
    *strrchr(folder, '/') = '\0';
    return true;
}

/* The least of a group's and of those that it is in. */
static uint64_t room_up_from(const struct version *v, const char *group) {
    char folder[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    snprintf(folder, sizeof folder, "%s%s", v->mount, group);
    do {
        uint64_t room = room_in(v, folder);
        least = room < least ? room : least;
    } while (go_up(folder, strlen(v->mount)));
    return least;
}

/* Of the group, or the first above it that counts them. */
static uint64_t kills_up_from(const struct version *v, const char *group) {
    char folder[PATH_BYTES];
    uint64_t kills;
    snprintf(folder, sizeof folder, "%s%s", v->mount, group);
    do {
        kills = read_number(folder, v->events, "oom_kill ", UINT64_MAX);
    } while (kills == UINT64_MAX && go_up(folder, strlen(v->mount)));
    return kills;
}

/* The least result of `of` for the cgroups of this process; UINT64_MAX: no cgroup. */
static uint64_t least(uint64_t (*of)(const struct version *v, const char *group)) {
    char line[PATH_BYTES];
    uint64_t found = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        for (unsigned i = 0; colon != NULL && i < sizeof versions / sizeof versions[0]; i++) {
            size_t behind = strlen(versions[i].line);
            if (strncmp(colon, versions[i].line, behind) == 0) {
                line[strcspn(line, "\n")] = '\0';
                uint64_t here = of(&versions[i], colon + behind - 1);
                found = here < found ? here : found;
            }
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

void memory_keep_to_room(void) {
    static rlim_t given;
    static uint64_t most_ever;
    struct rlimit limit;
    uint64_t left = least(room_up_from);
    uint64_t mapped = read_number("/proc/self", "status", "VmData:", UINT64_MAX);
    if (mapped == UINT64_MAX || getrlimit(RLIMIT_DATA, &limit) != 0) {
        return;
    }
    given = given == 0 ? limit.rlim_cur : given;
    most_ever = most_ever == 0 ? mapped * 1024 + DATA_BYTES_MAX : most_ever;
    uint64_t most = left < NONE_BYTES ? mapped * 1024 + left / 2 : most_ever;
    most = most < most_ever ? most : most_ever;
    limit.rlim_cur = most < given ? most : given;
    setrlimit(RLIMIT_DATA, &limit);
}

uint64_t memory_oom_kills(void) {
    uint64_t kills = least(kills_up_from);
    return kills != UINT64_MAX ? kills : read_number("/proc", "vmstat", "oom_kill ", 0);
}
