/* SPDX-License-Identifier: MIT
 * Finds the perf map that a report's process wrote for its JIT code, and checks that the map is of this
 * process. One thread.
 */
#ifndef CLI_PROCESS_PERF_MAP_H
#define CLI_PROCESS_PERF_MAP_H

#include <jansson.h>
#include <sys/types.h>

struct process_map {
    int fd;
    char path[64];
    const char *why; /* why a map is not used; NULL: no map */
};

/* Opens the map. Returns map->fd: a descriptor or a negative errno value. */
int process_map_open(const json_t *report, uid_t owner, struct process_map *map);
void process_map_close(struct process_map *map);

#endif
