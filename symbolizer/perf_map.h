/* SPDX-License-Identifier: MIT
 * Names of JIT code, from the map that the compiler writes: /tmp/perf-PID.map. Each piece of code has a line
 * "START SIZE NAME", in the order of compilation. Code moves and memory is reused, so the last line for an
 * address counts. Any user may have written the file: it is read in pieces, and text of another form is
 * ignored. Allocates.
 */
#ifndef SYMBOLIZER_PERF_MAP_H
#define SYMBOLIZER_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_MAP_BYTES_MAX \
    (256LL << 20) /* of a larger file only the end is read, which has the newest lines */
#define PERF_MAP_NAME_BYTES 512

struct perf_map_place {
    uint64_t pc;       /* to look up; places are in ascending order */
    uint64_t start;    /* of the piece that contains pc; 0: no such piece */
    off_t name;        /* offset of the name in the file */
    size_t name_bytes; /* at most PERF_MAP_NAME_BYTES - 1 */
};

/* Opens a map for reading. It must be a regular file of `owner` or root that no other user can write, and
 * last written at `since_ns` (CLOCK_REALTIME) or later. Returns a descriptor, -ENOENT: no such file, or
 * another negative errno value. In the latter case *why is a text with the reason. */
int perf_map_open(const char *path, uid_t owner, uint64_t since_ns, const char **why);

/* Finds the pieces of all places. 0 or a negative errno value; -EFBIG: the lines contain too many places.
 * *cut (may be NULL): the file has more than was read. */
int perf_map_find(int fd, struct perf_map_place *places, size_t count, int *cut);

/* The name of a place that was found. 0 or a negative errno value. */
int perf_map_name(int fd, const struct perf_map_place *place, char name[PERF_MAP_NAME_BYTES]);

#endif
