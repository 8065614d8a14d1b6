/* SPDX-License-Identifier: MIT */
#include "os/linux/proc_status.h"

#include <string.h>

#include "os/os.h"

int hd_proc_status_value(int dir, const char *path, const char *key, char *value, size_t size) {
    char piece[512];
    size_t length = strlen(key), matched = 0, used = 0;
    bool other = false; /* true: the line that contains piece[i] does not start with `key` */
    bool whole = false; /* true: the line that starts with `key` is read to its end */
    int fd = hd_os_open(dir, path);
    long n = fd;
    while (fd >= 0 && !whole && (n = hd_os.read(fd, piece, sizeof piece)) > 0) {
        for (long i = 0; i < n && !whole; i++) {
            bool blank = piece[i] == ' ' || piece[i] == '\t';
            if (piece[i] == '\n') {
                whole = matched == length;
                matched = whole ? matched : 0;
                other = false;
            } else if (matched < length) {
                other |= piece[i] != key[matched];
                matched += !other;
            } else if (used + 1 < size && (used > 0 || !blank)) {
                value[used++] = piece[i];
            }
        }
    }
    hd_os_close(fd);
    value[used] = '\0';
    return n < 0 ? (int)n : matched == length;
}

uint64_t hd_proc_status_number(int dir, const char *path, const char *key, unsigned base) {
    char value[128];
    uint64_t number = 0;
    bool apart = true;
    (void)hd_proc_status_value(dir, path, key, value, sizeof value);
    for (const char *p = value; *p != '\0'; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
                                                  : 16;
        if (digit < base) {
            number = (apart ? 0 : number) * base + digit;
        }
        apart = digit >= base;
    }
    return number;
}
