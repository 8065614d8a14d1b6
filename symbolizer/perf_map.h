/* SPDX-License-Identifier: MIT
 *
 * Names of code that was made at run time, from the map that its maker writes: /tmp/perf-PID.map, one line
 * "START SIZE NAME" for each piece, in the order in which they were made. Code moves and memory is used
 * again: the last line that holds an address counts. The file is anybody's: it is read in pieces, never held
 * in memory, and what does not look like a line is none. Ordinary code.
 */
#ifndef SYMBOLIZER_PERF_MAP_H
#define SYMBOLIZER_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERF_MAP_BYTES_MAX (256LL << 20) /* of a larger file the end is read: the newest lines */
#define PERF_MAP_NAME_BYTES 512

struct perf_map_place {
    uint64_t pc;       /* asked; places are in ascending order */
    uint64_t start;    /* of the piece that holds pc; 0: none does */
    off_t name;        /* where its name stands in the file */
    size_t name_bytes; /* at most PERF_MAP_NAME_BYTES - 1 */
};

/* Opens a map for reading: an ordinary file, nobody else's than `owner`'s or root's, that others cannot write
 * to, last written at `since_ns` (CLOCK_REALTIME) or later. A descriptor; -ENOENT: there is none; else
 * another negative errno value, and *why is a text that says what is wrong with it. */
int perf_map_open(const char *path, uid_t owner, uint64_t since_ns, const char **why);

/* Finds the pieces of all places. 0 or a negative errno value, -EFBIG where too many lines have too many of
 * them; *cut (may be NULL): the file is larger than what was read. */
int perf_map_find(int fd, struct perf_map_place *places, size_t count, int *cut);

/* The name of a place that was found. 0 or a negative errno value. */
int perf_map_name(int fd, const struct perf_map_place *place, char name[PERF_MAP_NAME_BYTES]);

#endif
