/* SPDX-License-Identifier: MIT */
#include "cli/keep_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base_name.h"
#include "cli/plain_text.h"
#include "cli/reports.h"
#include "cli/temp_file.h"

static const char *text_of(const json_t *report, const char *key) {
    const char *text = json_string_value(json_object_get(report, key));
    return text != NULL ? text : "";
}

/* A hang that goes on is written again by its process, without the names. */
static bool has_ended(const json_t *report) {
    return json_is_true(json_object_get(report, "complete")) ||
           strcmp(text_of(report, "kind"), "fatal-hang") == 0;
}

static bool is_own_file(const char *path, const char *id, struct stat *st) {
    char name[64];
    snprintf(name, sizeof name, "%s.json", id);
    return strcmp(base_name(path), name) == 0 && lstat(path, st) == 0 && S_ISREG(st->st_mode) &&
           st->st_uid == geteuid() && st->st_nlink == 1;
}

static bool says_more(const char *path, const json_t *report) {
    struct problem why;
    json_t *written = report_load(path, &why);
    bool more = written != NULL && !json_equal(written, report);
    json_decref(written);
    return more;
}

static bool write_whole(int fd, const json_t *report, const struct stat *like) {
    FILE *out = fdopen(dup(fd), "w");
    if (out == NULL)
        return false;
    bool whole = render_json(out, report, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
    whole &= fputc('\n', out) != EOF;
    whole &= fclose(out) == 0;
    const struct timespec times[2] = {like->st_atim, like->st_mtim}; /* the oldest of a spool go first */
    return whole && fchmod(fd, like->st_mode & 07777) == 0 && futimens(fd, times) == 0 && fsync(fd) == 0;
}

void keep_names(const char *path, const json_t *report) {
    char temp[PATH_MAX];
    struct stat st;
    const char *id = text_of(report, "id");
    if (path == NULL || !has_ended(report) || !is_own_file(path, id, &st) || !says_more(path, report))
        return;
    int n = snprintf(temp, sizeof temp, "%.*s.%s.tmp", (int)(base_name(path) - path), path, id);
    int fd = n > 0 && (size_t)n < sizeof temp ? temp_file_open(temp) : -1;
    if (fd < 0)
        return;
    bool there = access(path, F_OK) == 0; /* else the spool's limits have taken it meanwhile */
    if (!write_whole(fd, report, &st) || !there || rename(temp, path) != 0)
        unlink(temp);
    close(fd);
}
