/* SPDX-License-Identifier: MIT
 *
 * The map of code made at run time that the process of a report wrote: where it is, and whether it is that
 * process's. Ordinary code.
 */
#ifndef CLI_PROCESS_PERF_MAP_H
#define CLI_PROCESS_PERF_MAP_H

#include <jansson.h>
#include <sys/types.h>

struct process_map {
    int fd;
    char path[64];
    const char *why; /* why it is not read; NULL: there is none */
};

/* Opens it; fd or a negative errno value. */
int process_map_open(const json_t *report, uid_t owner, struct process_map *map);
void process_map_close(struct process_map *map);

#endif
