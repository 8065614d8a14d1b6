/* SPDX-License-Identifier: MIT
 * Process ids are reused, and a map outlives its process. So the map must be newer than the start of the
 * report's process, and no other process may have the id now. For a living process, its own view of /tmp
 * counts, which may be a container's.
 */
#include "cli/reader/process_perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "symbolizer/perf_map.h"

#define NS_PER_S UINT64_C(1000000000)
/* The kernel dates a process to 10 ms, a file to the tick before, and the runner notes a start before it. */
#define SLACK_NS (NS_PER_S / 2)

static uint64_t parse_time(const char *text) {
    struct tm tm = {0};
    const char *rest = text == NULL ? NULL : strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    return rest == NULL ? 0 : (uint64_t)timegm(&tm) * NS_PER_S;
}

int process_map_open(const json_t *report, uid_t owner, struct process_map *map) {
    const json_t *app = json_object_get(report, "app");
    json_int_t id = json_integer_value(json_object_get(app, "pid"));
    uint64_t started = parse_time(json_string_value(json_object_get(app, "started_at")));
    uint64_t hang = parse_time(json_string_value(json_object_get(report, "started_at")));
    *map = (struct process_map){.fd = -ENOENT};
    if (id <= 0 || id > INT32_MAX) {
        return map->fd;
    }
    int pid = (int)id;
    uint64_t lives_since = proc_is_ours() ? proc_started_wall_ns(pid) : 0;
    snprintf(map->path, sizeof map->path, "/tmp/perf-%d.map", pid);
    if (lives_since > hang + NS_PER_S + SLACK_NS) { /* the report's times are cut to whole seconds */
        map->why = access(map->path, F_OK) == 0 ? "another process has that id now" : NULL;
        return map->fd;
    }
    if (lives_since != 0) {
        char inside[64];
        int own = (int)proc_number(pid, "NSpid:", 10); /* as it sees itself */
        snprintf(inside, sizeof inside, "/proc/%d/root/tmp/perf-%d.map", pid, own != 0 ? own : pid);
        map->fd = perf_map_open(inside, owner, lives_since - SLACK_NS, &map->why);
        if (map->fd >= 0) {
            return map->fd;
        }
    }
    if (map->fd == -ENOENT || map->fd == -EACCES || map->fd == -EPERM) {
        map->fd = perf_map_open(map->path, owner, started > SLACK_NS ? started - SLACK_NS : 0, &map->why);
    }
    if (map->fd == -ENOENT) {
        map->why = NULL;
    }
    return map->fd;
}

void process_map_close(struct process_map *map) {
    if (map->fd >= 0) {
        close(map->fd);
    }
}
