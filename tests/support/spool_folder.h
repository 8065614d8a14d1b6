/* SPDX-License-Identifier: MIT
 *
 * For tests of the spool: a folder of its own, calls that fail, and what is in the folder. Included after
 * cmocka.h.
 */
#ifndef TEST_SPOOL_FOLDER_H
#define TEST_SPOOL_FOLDER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool.h"
#include "report/spool_files.h"

static char folder[64];
static struct hd_spool spool;
static struct hd_report_scratch *scratch;
static struct hd_os_calls real;

/* ---- a call that fails -------------------------------------------------------------------- */

static int fail_at, fail_with; /* the nth call from now on; 0: none */
static int calls;

static inline bool fails(void) {
    calls++;
    return fail_at != 0 && calls == fail_at;
}

static inline int open_at(int dir, const char *path, int flags, int mode) {
    return fails() ? fail_with : real.open_at(dir, path, flags, mode);
}
static inline long write_some(int fd, const void *buf, size_t n) {
    return fails() ? fail_with : real.write(fd, buf, n > 100 ? 100 : n); /* and never all at once */
}
static inline int fsync_file(int fd) {
    return fails() ? fail_with : real.fsync(fd);
}
static inline int rename_at(int dir, const char *from, const char *to) {
    return fails() ? fail_with : real.rename_at(dir, from, to);
}
static inline int unlink_at(int dir, const char *path) {
    return fails() ? fail_with : real.unlink_at(dir, path);
}
static inline int mkdir_at(int dir, const char *path, int mode) {
    return fails() ? fail_with : real.mkdir_at(dir, path, mode);
}
static inline int truncate_file(int fd, uint64_t size) {
    return fails() ? fail_with : real.ftruncate(fd, size);
}
static inline int lock_file(int fd, int operation) {
    return fails() ? fail_with : real.flock(fd, operation);
}
static inline long list(int fd, char *names, size_t n) {
    return fails() ? fail_with : real.read_names(fd, names, n);
}
static inline int stat_file(int dir, const char *path, void *st, int flags) {
    return fails() ? fail_with : real.stat_at(dir, path, st, flags);
}

static inline void let_calls_fail(void) {
    hd_os.open_at = open_at;
    hd_os.write = write_some;
    hd_os.fsync = fsync_file;
    hd_os.rename_at = rename_at;
    hd_os.unlink_at = unlink_at;
    hd_os.mkdir_at = mkdir_at;
    hd_os.ftruncate = truncate_file;
    hd_os.flock = lock_file;
    hd_os.read_names = list;
    hd_os.stat_at = stat_file;
}

/* ---- the folder, seen from outside -------------------------------------------------------- */

static inline int open_descriptors(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Names in the folder whose end is `end`; with NULL all. */
static inline int files(const char *end) {
    int n = 0;
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while ((e = readdir(dir)) != NULL) {
        size_t length = strlen(e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        n += end == NULL || (length >= strlen(end) && strcmp(e->d_name + length - strlen(end), end) == 0);
    }
    closedir(dir);
    return n;
}

static inline void path_of(char path[160], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, what);
    snprintf(path, 160, "%s/%s", folder, name);
}

static inline bool exists(const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char path[160];
    path_of(path, id, what);
    return access(path, F_OK) == 0;
}

static inline int64_t duration_in(const uint8_t id[HD_UUID_BYTES]) {
    char path[160];
    path_of(path, id, HD_SPOOL_REPORT);
    json_t *report = json_load_file(path, 0, NULL);
    int64_t duration = report == NULL ? -1 : json_integer_value(json_object_get(report, "duration_ns"));
    json_decref(report);
    return duration;
}

static inline int fresh(void **state) {
    (void)state;
    hd_os = real;
    fail_at = 0;
    fail_with = -EIO;
    strcpy(folder, "/tmp/hangdog-spool-XXXXXX");
    assert_non_null(mkdtemp(folder));
    memset(&spool, 0, sizeof spool);
    assert_int_equal(hd_spool_open(&spool, folder), 0);
    return 0;
}

static inline int clean(void **state) {
    (void)state;
    hd_os = real;
    hd_spool_close(&spool);
    if (access(folder, F_OK) == 0) {
        assert_int_equal(folder_remove(folder), 0);
    }
    return 0;
}

static inline struct hd_report report_of(uint64_t wall_ns, uint64_t duration_ns) {
    struct hd_report r = {.started_wall_ns = wall_ns, .duration_ns = duration_ns, .cpu_percent = -1};
    hd_uuid_make(r.id, wall_ns);
    return r;
}

static inline struct hd_report write_one(uint64_t duration_ns) {
    uint64_t wall_ns;
    hd_os.wall_clock(&wall_ns);
    struct hd_report r = report_of(wall_ns, duration_ns);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    return r;
}

#endif
