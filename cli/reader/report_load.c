/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/json_text.h"
#include "cli/base/path.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/report_find.h"
#include "report/spool_files.h"
#include "symbolizer/regular_file.h"

#define HEAD_BYTES 4096 /* the members before the stacks need about a quarter */
#define FORMAT "hangdog-report/1"
#define FORMAT_PREFIX "hangdog-report/"
/* The largest report has 100 stacks of 256 functions, half of them of scripts, and is of some 10 MB. Another
 * JSON file needs fifty times its size in memory before it is refused. */
#define FILE_BYTES_MAX (16 << 20)

/* Reads a whole regular file. */
static char *read_file(const char *path, size_t *bytes, struct problem *why) {
    struct stat st;
    size_t used = 0;
    int fd = regular_file_open(path, &st);
    if (fd < 0 && errno != 0) {
        int error = errno;
        report_set_unread(why, path, -error);
        if (error == ENOENT) { /* the user named it: a list passes over files that have gone */
            error_try(why, "%s list", shell_own_command());
        }
        return NULL;
    }
    if (fd < 0 || st.st_size > FILE_BYTES_MAX) {
        error_set(why, "%s is not a Hangdog report: %s", path, fd < 0 ? "no regular file" : "too large");
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = -1;
    while (text != NULL && used < (size_t)st.st_size &&
           (n = read(fd, text + used, (size_t)st.st_size - used)) > 0) {
        used += (size_t)n;
    }
    if (text == NULL || (n < 0 && used < (size_t)st.st_size)) {
        error_set(why, "cannot read %s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    close(fd);
    *bytes = used;
    return text;
}

static json_t *parse(const char *path, const char *text, size_t bytes, struct problem *why) {
    json_error_t error;
    if (bytes == 0) {
        error_set(why, "%s is empty", path);
        return NULL;
    }
    errno = 0;
    json_t *report = json_loadb(text, bytes, 0, &error);
    if (report != NULL) {
        return report;
    }
    if (errno == ENOMEM) { /* in the midst of a word jansson takes it for another error */
        error_set(why, "cannot read %s: out of memory", path);
        return NULL;
    }
    if (json_error_code(&error) == json_error_premature_end_of_input) {
        error_set(why, "%s is cut off in line %d", path, error.line);
    } else {
        error_set(why, "%s is not a Hangdog report: no JSON (line %d, column %d: %s)", path, error.line,
                  error.column, error.text);
    }
    return NULL;
}

/* NULL when the report has what every report has, else the name of what is missing. */
static const char *missing_member(const json_t *report) {
    static const struct {
        const char *name;
        json_type type;
    } members[] = {{"id", JSON_STRING},           {"kind", JSON_STRING}, {"started_at", JSON_STRING},
                   {"duration_ns", JSON_INTEGER}, {"app", JSON_OBJECT},  {"host", JSON_OBJECT},
                   {"process", JSON_OBJECT}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *member = json_object_get(report, members[i].name);
        if (member == NULL || json_typeof(member) != members[i].type) {
            return members[i].name;
        }
    }
    return NULL;
}

static bool is_understood(const char *path, const json_t *report, struct problem *why) {
    const char *format = json_string_value(json_object_get(report, "format"));
    if (format == NULL || strncmp(format, FORMAT_PREFIX, sizeof FORMAT_PREFIX - 1) != 0) {
        error_set(why, "%s is not a Hangdog report", path);
        return false;
    }
    if (strcmp(format, FORMAT) != 0) {
        error_set(why, "%s has format %s, not " FORMAT "; try a newer hangdog", path, format);
        return false;
    }
    const char *missing = missing_member(report);
    if (missing != NULL) {
        error_set(why, "%s lacks '%s'", path, missing);
    }
    return missing == NULL;
}

/* Opens the fatal marker of a report: a file in the report's folder, or in `folder`. */
static int marker_open(const char *path, const char *folder, struct stat *st) {
    const char *name = base_name(path);
    char *marker;
    int made = folder != NULL
                   ? asprintf(&marker, "%s/.%.*s.open", folder, REPORT_ID_CHARS, name)
                   : asprintf(&marker, "%.*s.%.*s.open", (int)(name - path), path, REPORT_ID_CHARS, name);
    if (made < 0) {
        return -1;
    }
    int fd = regular_file_open(marker, st);
    free(marker);
    return fd;
}

/* Takes the duration from the fatal marker, which the monitor kept current, unless the report has a longer
 * one. */
static void set_duration_of_marker(int fd, json_t *report) {
    uint64_t ns, said = (uint64_t)json_integer_value(json_object_get(report, "duration_ns"));
    if (fd >= 0 && pread(fd, &ns, sizeof ns, 0) == sizeof ns && ns > said && ns < INT64_MAX) {
        json_object_set_new(report, "duration_ns", json_integer((json_int_t)ns));
    }
}

/* For a program that links the library: an unlocked fatal marker shows that the program died in this hang
 * (src/publish). */
static void see_whether_it_died(const char *path, json_t *report) {
    struct stat st;
    if (!json_is_false(json_object_get(report, "complete")) ||
        hd_spool_what(base_name(path)) != HD_SPOOL_REPORT) {
        return;
    }
    int fd = marker_open(path, NULL, &st);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
        const char *const folders[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm"};
        uid_t owner = st.st_uid;
        json_object_set_new(report, "kind", json_string("fatal-hang"));
        set_duration_of_marker(fd, report);
        for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            int memory = folders[i] != NULL && folders[i][0] == '/' ? marker_open(path, folders[i], &st) : -1;
            if (memory >= 0 && st.st_uid == owner) { /* others may write there, too */
                set_duration_of_marker(memory, report);
            }
            if (memory >= 0) {
                close(memory);
            }
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

json_t *report_load(const char *path, struct problem *why) {
    size_t bytes;
    char *text = read_file(path, &bytes, why);
    if (text == NULL) {
        return NULL;
    }
    json_t *report = parse(path, text, bytes, why);
    free(text);
    if (report != NULL && !is_understood(path, report, why)) {
        json_decref(report);
        return NULL;
    }
    if (report != NULL) {
        see_whether_it_died(path, report);
    }
    return report;
}

/* Where the member of the outermost object begins, with its comma; 0: it is not among these bytes. */
static size_t find_member(const char *text, size_t bytes, const char *name) {
    size_t n = strlen(name);
    int depth = 0;
    for (size_t i = 0; i < bytes; i++) {
        depth += text[i] == '{' || text[i] == '[' ? 1 : text[i] == '}' || text[i] == ']' ? -1 : 0;
        if (text[i] != '"') {
            continue;
        }
        size_t start = i;
        for (i++; i < bytes && text[i] != '"'; i++) {
            i += text[i] == '\\';
        }
        if (depth == 1 && i < bytes && i - start == n + 1 && memcmp(text + start + 1, name, n) == 0) {
            for (; start > 0; start--) {
                if (text[start] == ',') {
                    return start;
                }
            }
        }
    }
    return 0;
}

/* The first bytes of a longer file that ends by a brace; 0: it is another one. */
static size_t read_head(const char *path, char text[HEAD_BYTES + 1]) {
    struct stat st;
    char end[2];
    ssize_t n = 0;
    int fd = regular_file_open(path, &st);
    if (fd >= 0 && st.st_size > HEAD_BYTES && st.st_size <= FILE_BYTES_MAX &&
        pread(fd, end, sizeof end, st.st_size - (off_t)sizeof end) == sizeof end &&
        (end[1] == '}' || (end[0] == '}' && end[1] == '\n'))) {
        n = pread(fd, text, HEAD_BYTES, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 ? (size_t)n : 0;
}

json_t *report_load_head(const char *path, struct problem *why) {
    char text[HEAD_BYTES + 1];
    size_t bytes = find_member(text, read_head(path, text), "hot_stack");
    json_t *report = NULL;
    if (bytes != 0) {
        text[bytes] = '}';
        report = json_loadb(text, bytes + 1, 0, NULL);
    }
    if (report == NULL || !is_understood(path, report, why)) {
        json_decref(report);
        return report_load(path, why);
    }
    see_whether_it_died(path, report);
    return report;
}

bool report_is_gone(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

uid_t report_owner(const char *path) {
    struct stat st;
    return path != NULL && stat(path, &st) == 0 ? st.st_uid : geteuid();
}

const char *report_text(const json_t *object, const char *key) {
    return json_text(object, key);
}
