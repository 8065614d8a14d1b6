/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_lines.h"

#include <string.h>

#include "os/os.h"

void hd_proc_lines_init(struct hd_proc_lines *lines, int fd) {
    lines->fd = fd;
    lines->at = lines->end = 0;
    lines->cut = false;
}

static bool read_more(struct hd_proc_lines *lines) {
    lines->end -= lines->at;
    memmove(lines->text, lines->text + lines->at, lines->end);
    lines->at = 0;
    long n = hd_os.read(lines->fd, lines->text + lines->end, sizeof lines->text - 1 - lines->end);
    lines->end += n > 0 ? (size_t)n : 0;
    return n > 0;
}

char *hd_proc_lines_next(struct hd_proc_lines *lines) {
    for (;;) {
        char *line = lines->text + lines->at;
        char *newline = memchr(line, '\n', lines->end - lines->at);
        bool full = lines->at == 0 && lines->end == sizeof lines->text - 1;
        if (newline == NULL && !full) {
            if (!read_more(lines)) {
                return NULL;
            }
            continue;
        }
        char *end = newline != NULL ? newline : lines->text + lines->end;
        bool rest = lines->cut;
        *end = '\0';
        lines->at = newline != NULL ? (size_t)(newline + 1 - lines->text) : lines->end;
        lines->cut = newline == NULL;
        if (!rest) {
            return line;
        }
    }
}
