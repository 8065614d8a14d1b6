/* SPDX-License-Identifier: MIT
 *
 * Reading a perf map. Ordinary code.
 */
#include "symbolizer/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (64u << 10)
#define MATCHES_MAX 50000000u /* of lines and places: a hostile map may have each place in each line */

struct search {
    struct perf_map_place *places;
    size_t count, matches;
};

int perf_map_open(const char *path, uid_t owner, uint64_t since_ns, const char **why) {
    struct stat st;
    *why = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *why = errno == ELOOP ? "a link" : strerror(errno);
        return -errno;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        *why = "not a regular file";
    } else if (st.st_uid != owner && st.st_uid != 0) {
        *why = "other owner";
    } else if ((st.st_mode & S_IWOTH) != 0) {
        *why = "writable by all";
    } else if ((uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec < since_ns) {
        *why = "older than the process";
    }
    if (*why == NULL) {
        return fd;
    }
    close(fd);
    return -EPERM;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A hexadecimal number and the space after it; *p moves on. False: there is none. */
static bool take_number(const char **p, const char *end, uint64_t *out) {
    const char *from = *p;
    uint64_t v = 0;
    for (; *p < end && **p != ' '; ++*p) {
        char c = **p;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16 || *p - from == 16) {
            return false;
        }
        v = v << 4 | digit;
    }
    *out = v;
    return *p != from && (*p)++ < end;
}

/* The first place at or above pc. */
static size_t first_from(const struct perf_map_place *places, size_t count, uint64_t pc) {
    size_t lo = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (places[lo + half].pc < pc) {
            lo += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return lo;
}

/* One line without its newline, which stands at `at` in the file. */
static void take_line(struct search *s, const char *line, const char *end, off_t at) {
    struct perf_map_place *places = s->places;
    const size_t count = s->count;
    const char *p = line;
    uint64_t start, size;
    if (end - p > 2 && p[0] == '0' && p[1] == 'x') {
        p += 2;
    }
    if (!take_number(&p, end, &start) || !take_number(&p, end, &size) || p == end || start == 0) {
        return;
    }
    for (size_t i = first_from(places, count, start);
         i < count && places[i].pc - start < size && s->matches < MATCHES_MAX; i++, s->matches++) {
        places[i].start = start;
        places[i].name = at + (p - line);
        places[i].name_bytes =
            (size_t)(end - p) < PERF_MAP_NAME_BYTES ? (size_t)(end - p) : PERF_MAP_NAME_BYTES - 1;
    }
}

/* Reads all whole lines of the file from `at` on. Of a line longer than the buffer, only the beginning
 * counts. A last line without a newline does not count, since the compiler is still writing it. */
static int read_lines(int fd, off_t at, bool skip, struct search *s) {
    char *buffer = malloc(BUFFER_BYTES);
    size_t have = 0;
    ssize_t n = 0;
    if (buffer == NULL) {
        return -ENOMEM;
    }
    for (off_t left = PERF_MAP_BYTES_MAX; left > 0 && s->matches < MATCHES_MAX; left -= n) {
        n = pread(fd, buffer + have, BUFFER_BYTES - have, at + (off_t)have);
        if (n <= 0) {
            break;
        }
        have += (size_t)n;
        const char *line = buffer, *end = buffer + have, *newline;
        while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            if (!skip) {
                take_line(s, line, newline, at + (line - buffer));
            }
            skip = false;
            line = newline + 1;
        }
        if (line == buffer && have == BUFFER_BYTES) {
            if (!skip) {
                take_line(s, line, end, at);
            }
            skip = true;
            line = end;
        }
        have = (size_t)(end - line);
        at += line - buffer;
        memmove(buffer, line, have);
    }
    int error = n < 0 ? -errno : s->matches < MATCHES_MAX ? 0 : -EFBIG;
    free(buffer);
    return error;
}

int perf_map_find(int fd, struct perf_map_place *places, size_t count, int *cut) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    off_t from = st.st_size > PERF_MAP_BYTES_MAX ? st.st_size - PERF_MAP_BYTES_MAX : 0;
    if (cut != NULL) {
        *cut = from != 0;
    }
    return read_lines(fd, from, from != 0, &(struct search){.places = places, .count = count});
}

int perf_map_name(int fd, const struct perf_map_place *place, char name[PERF_MAP_NAME_BYTES]) {
    ssize_t n = pread(fd, name, place->name_bytes, place->name);
    if (n != (ssize_t)place->name_bytes) {
        return n < 0 ? -errno : -EIO;
    }
    name[n] = 0;
    return 0;
}
