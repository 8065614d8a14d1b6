/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/base/temp_file.h"

/* errno says why not. */
static bool write_whole(int fd, const json_t *report, const struct stat *like) {
    int copy = dup(fd);
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out == NULL) {
        close(copy);
        return false;
    }
    bool whole = sanitize_print_json(out, report, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
    whole &= fclose(out) == 0;
    if (whole && like != NULL) {
        const struct timespec times[2] = {like->st_atim, like->st_mtim}; /* the oldest of a spool go first */
        whole = fchmod(fd, like->st_mode & 07777) == 0 && futimens(fd, times) == 0;
    }
    return whole && fsync(fd) == 0;
}

int report_file_replace(const char *path, const json_t *report, const struct stat *like) {
    char temp[PATH_MAX];
    const char *name = base_name(path), *end = strrchr(name, '.');
    int n = snprintf(temp, sizeof temp, "%.*s.%.*s.tmp", (int)(name - path), path,
                     end != NULL ? (int)(end - name) : 0, name);
    if (n < 0 || (size_t)n >= sizeof temp) {
        return -ENAMETOOLONG;
    }
    int fd = temp_file_open(temp);
    if (fd < 0) {
        return fd;
    }
    errno = 0;
    bool whole =
        write_whole(fd, report, like) && (like == NULL || access(path, F_OK) == 0) && rename(temp, path) == 0;
    int rc = whole ? 0 : errno != 0 ? -errno : -EIO;
    if (!whole) {
        unlink(temp);
    }
    close(fd); /* all of it is on disk */
    return rc;
}
