/* SPDX-License-Identifier: MIT
 *
 * Finding reports in spool folders, and reading one. Ordinary code.
 */
#include "cli/reader/reports.h"

#include "cli/base/path.h"
#include "cli/base/shell_quote.h"
#include "report/spool_files.h"
#include "symbolizer/regular_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "hangdog-report/1"
#define FORMAT_PREFIX "hangdog-report/"
#define ID_CHARS 36
/* The largest report has 100 stacks of 256 functions, half of them of scripts, and is of some 10 MB. What is
 * no report takes fifty times its size in memory until that is known. */
#define FILE_BYTES_MAX (16 << 20)

/* ---- finding ------------------------------------------------------------------------------ */

/* Services have no HOME: theirs is what systemd names (the first of a list), or of the user's entry. */
static int folder_without_home(char **folder) {
    const char *given = getenv("STATE_DIRECTORY");
    const struct passwd *user = NULL;
    if (given != NULL && given[0] == '/')
        return asprintf(folder, "%.*s/hangdog", (int)strcspn(given, ":"), given);
    user = getpwuid(geteuid());
    if (user == NULL || user->pw_dir == NULL || user->pw_dir[0] != '/')
        return 0;
    return asprintf(folder, "%s/.local/state/hangdog", user->pw_dir);
}

char *reports_default_folder(struct problem *why) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    int n = -1;
    if (state != NULL && state[0] == '/') /* the specification: a relative one is ignored */
        n = asprintf(&folder, "%s/hangdog", state);
    else if (home != NULL && home[0] == '/')
        n = asprintf(&folder, "%s/.local/state/hangdog", home);
    else
        n = folder_without_home(&folder);
    if (n > 0)
        return folder;
    if (n < 0)
        problem_set(why, "looking for reports: out of memory");
    else
        problem_set(
            why, "finding the folder of the reports: neither XDG_STATE_HOME nor HOME is set to a path from "
                 "the root, nor has the user a home; name it with --spool");
    return NULL;
}

static int add_file(struct report_files *out, const char *folder, const char *name) {
    struct report_file *file = realloc(out->file, (out->count + 1) * sizeof *file);
    if (file == NULL)
        return -ENOMEM;
    out->file = file;
    file += out->count;
    if (asprintf(&file->path, "%s/%s", folder, name) < 0)
        return -ENOMEM;
    snprintf(file->id, sizeof file->id, "%.*s", ID_CHARS, name);
    out->count++;
    return 0;
}

/* A link that another user put into a spool leads where that user wants. No program writes one there. */
static bool is_link(DIR *dir, const struct dirent *e) {
    struct stat st;
    return e->d_type == DT_LNK ||
           (e->d_type == DT_UNKNOWN && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(st.st_mode));
}

/* Adds the reports of one folder. 0 or a negative errno value. */
static int add_folder(struct report_files *out, const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *e;
    int result = 0;
    if (dir == NULL)
        return -errno;
    errno = 0;
    while (result == 0 && (e = readdir(dir)) != NULL) {
        if (hd_spool_what(e->d_name) == HD_SPOOL_REPORT && !is_link(dir, e)) /* others may lie beside */
            result = add_file(out, folder, e->d_name);
        errno = 0;
    }
    if (result == 0)
        result = -errno;
    closedir(dir);
    return result;
}

/* What a person can do about a spool that cannot be read. */
static const char *remedy(int error) {
    return error == -EACCES ? "ask for the right to read it" : "name the folder of the reports with --spool";
}

/* Adds the reports of one app. That its folder cannot be read (sudo leaves one of root's) hides no others. */
static int add_app(struct report_files *out, const char *folder) {
    int result = add_folder(out, folder);
    if (result == -ENOMEM || result == 0)
        return result;
    if (result != -ENOTDIR && result != -ENOENT) {
        complain("reading the spool %s: %s; %s", folder, strerror(-result), remedy(result));
        out->unread = true;
    }
    return 0;
}

/* Adds the reports of every folder in `base`, one of each app. */
static int add_apps(struct report_files *out, const char *base) {
    DIR *dir = opendir(base);
    const struct dirent *e;
    int result = 0;
    if (dir == NULL)
        return errno == ENOENT ? 0 : -errno;
    while (result == 0 && (e = readdir(dir)) != NULL) {
        char *folder;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (asprintf(&folder, "%s/%s", base, e->d_name) < 0) {
            result = -ENOMEM;
            break;
        }
        result = add_app(out, folder);
        free(folder);
    }
    closedir(dir);
    return result;
}

static int compare_files(const void *a, const void *b) {
    const struct report_file *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : strcmp(x->path, y->path);
}

int reports_find(const char *folder, struct report_files *out, struct problem *why) {
    memset(out, 0, sizeof *out);
    out->where = folder != NULL ? strdup(folder) : reports_default_folder(why);
    if (out->where == NULL)
        return -1;
    int result = folder != NULL ? add_folder(out, folder) : add_apps(out, out->where);
    if (folder != NULL && result == 0 && out->count == 0) {
        result = add_apps(out, folder); /* it may be the folder of the apps' folders */
    }
    if (result < 0) {
        problem_set(why, "reading the spool %s: %s; %s", out->where, strerror(-result), remedy(result));
        reports_free(out);
        return -1;
    }
    if (out->count != 0)
        qsort(out->file, out->count, sizeof out->file[0], compare_files);
    return 0;
}

void reports_free(struct report_files *files) {
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
    free(files->where);
    memset(files, 0, sizeof *files);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The whole file, which must be an ordinary one. */
static char *read_file(const char *path, size_t *bytes, struct problem *why) {
    struct stat st;
    size_t used = 0;
    int fd = ordinary_file_open(path, &st);
    if (fd < 0 && errno != 0) {
        if (errno == ENOENT) /* then somebody named it: a list passes over what has gone */
            problem_set(why, "reading the report %s: %s; see: %s list", path, strerror(errno), own_command());
        else
            problem_set(why, "reading the report %s: %s%s", path, strerror(errno),
                        errno == EACCES ? "; make it readable, or be its owner" : "");
        return NULL;
    }
    if (fd < 0 || st.st_size > FILE_BYTES_MAX) {
        problem_set(why, "reading the report %s: it is %s; name a file that hangdog wrote", path,
                    fd < 0 ? "no ordinary file" : "too large to be one");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = -1;
    while (text != NULL && used < (size_t)st.st_size &&
           (n = read(fd, text + used, (size_t)st.st_size - used)) > 0)
        used += (size_t)n;
    if (text == NULL || (n < 0 && used < (size_t)st.st_size)) {
        problem_set(why, "reading the report %s: %s", path, strerror(errno));
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
        problem_set(why, "reading the report %s: it is empty; remove it, its content is lost", path);
        return NULL;
    }
    errno = 0;
    json_t *report = json_loadb(text, bytes, 0, &error);
    if (report != NULL)
        return report;
    if (errno == ENOMEM) { /* in the midst of a word jansson takes it for another error */
        problem_set(why, "reading the report %s: out of memory", path);
        return NULL;
    }
    if (json_error_code(&error) == json_error_premature_end_of_input)
        problem_set(why,
                    "reading the report %s: it is torn: it ends within line %d; copy it again, or remove it",
                    path, error.line);
    else
        problem_set(
            why,
            "reading the report %s: it is not JSON (line %d, column %d: %s); name a file that hangdog wrote",
            path, error.line, error.column, error.text);
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
        if (member == NULL || json_typeof(member) != members[i].type)
            return members[i].name;
    }
    return NULL;
}

static bool is_understood(const char *path, const json_t *report, struct problem *why) {
    const char *format = json_string_value(json_object_get(report, "format"));
    if (format == NULL || strncmp(format, FORMAT_PREFIX, sizeof FORMAT_PREFIX - 1) != 0) {
        problem_set(
            why,
            "reading the report %s: it is JSON, but no report of hangdog; name a file that hangdog wrote",
            path);
        return false;
    }
    if (strcmp(format, FORMAT) != 0) {
        problem_set(
            why,
            "reading the report %s: its format is %s, and only %s is understood; use the hangdog that wrote it",
            path, format, FORMAT);
        return false;
    }
    const char *missing = missing_member(report);
    if (missing != NULL)
        problem_set(why,
                    "reading the report %s: it is damaged: '%s' is missing or of another type; remove it",
                    path, missing);
    return missing == NULL;
}

/* The note beside a report; `folder`: that of the same name there. */
static int note_open(const char *path, const char *folder, struct stat *st) {
    const char *name = base_name(path);
    char *note;
    int made = folder != NULL ? asprintf(&note, "%s/.%.*s.open", folder, ID_CHARS, name)
                              : asprintf(&note, "%.*s.%.*s.open", (int)(name - path), path, ID_CHARS, name);
    if (made < 0)
        return -1;
    int fd = ordinary_file_open(note, st);
    free(note);
    return fd;
}

/* The duration, which its monitor kept current in the note: less than the report's is none. */
static void set_noted_duration(int fd, json_t *report) {
    uint64_t ns, said = (uint64_t)json_integer_value(json_object_get(report, "duration_ns"));
    if (fd >= 0 && pread(fd, &ns, sizeof ns, 0) == sizeof ns && ns > said && ns < INT64_MAX)
        json_object_set_new(report, "duration_ns", json_integer((json_int_t)ns));
}

/* Of a program that links the library, and died in that hang: no process has the note beside the report
 * locked any more (worker/fatal_marker.c). */
static void see_whether_it_died(const char *path, json_t *report) {
    struct stat st;
    if (!json_is_false(json_object_get(report, "complete")) ||
        hd_spool_what(base_name(path)) != HD_SPOOL_REPORT)
        return;
    int fd = note_open(path, NULL, &st);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
        const char *const folders[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm"};
        uid_t owner = st.st_uid;
        json_object_set_new(report, "kind", json_string("fatal-hang"));
        set_noted_duration(fd, report);
        for (unsigned i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            int memory = folders[i] != NULL && folders[i][0] == '/' ? note_open(path, folders[i], &st) : -1;
            if (memory >= 0 && st.st_uid == owner) /* others may write there, too */
                set_noted_duration(memory, report);
            if (memory >= 0)
                close(memory);
        }
    }
    if (fd >= 0)
        close(fd);
}

json_t *report_load(const char *path, struct problem *why) {
    size_t bytes;
    char *text = read_file(path, &bytes, why);
    if (text == NULL)
        return NULL;
    json_t *report = parse(path, text, bytes, why);
    free(text);
    if (report != NULL && !is_understood(path, report, why)) {
        json_decref(report);
        return NULL;
    }
    if (report != NULL)
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

/* ---- picking ------------------------------------------------------------------------------ */

/* The newest report that is not of a session (each run ends with one); of sessions only, the newest. What
 * cannot be read is told, and the one before it is taken. */
static json_t *pick_latest(const struct report_files *files, char **path, struct problem *why) {
    json_t *session = NULL;
    bool unread = files->unread;
    for (size_t i = files->count; i-- != 0;) {
        json_t *report = report_load(files->file[i].path, why);
        if (report == NULL) {
            if (!report_is_gone(files->file[i].path)) {
                complain("%s", why->text);
                unread = true;
            }
            continue;
        }
        if (strcmp(json_string_value(json_object_get(report, "kind")), "session") != 0) {
            json_decref(session);
            *path = strdup(files->file[i].path);
            return report;
        }
        if (session == NULL)
            session = report;
        else
            json_decref(report);
    }
    if (session == NULL)
        problem_set(why,
                    "looking for the latest report: there is none in %s%s; make one with: %s run -- PROGRAM",
                    files->where, unread ? " that can be read" : "", own_command());
    return session;
}

static json_t *pick_by_id(const struct report_files *files, const char *name, char **path,
                          struct problem *why) {
    const struct report_file *found = NULL;
    size_t matches = 0;
    for (size_t i = 0; i < files->count; i++) {
        const char *id = files->file[i].id;
        size_t n = strlen(name), all = strlen(id);
        if (strncmp(id, name, n) != 0 && (n > all || strcmp(id + all - n, name) != 0))
            continue;
        if (found == NULL || strcmp(found->id, files->file[i].id) != 0)
            matches++;
        found = &files->file[i];
    }
    if (matches == 1) {
        *path = strdup(found->path);
        return report_load(found->path, why);
    }
    if (matches == 0)
        problem_set(why, "looking for the report %s: no id in %s begins or ends with it; see: %s list", name,
                    files->where, own_command());
    else
        problem_set(
            why,
            "looking for the report %s: %zu ids in %s begin or end with it; type more of the one you mean",
            name, matches, files->where);
    return NULL;
}

static bool is_file(const char *name) {
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

char *reports_beside(const char *name, const char *id) {
    char *path = NULL;
    if (id == NULL || strspn(id, "0123456789abcdef-") != ID_CHARS || id[ID_CHARS] != 0 || !is_file(name) ||
        asprintf(&path, "%.*s%s.json", (int)(base_name(name) - name), name, id) < 0)
        return NULL;
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

json_t *reports_pick(const char *folder, const char *name, char **path, struct problem *why) {
    struct report_files files;
    *path = NULL;
    if (is_file(name)) {
        *path = strdup(name);
        return report_load(name, why);
    }
    if (name[0] == 0) {
        problem_set(why, "looking for a report: its id is empty; see: %s list", own_command());
        return NULL;
    }
    if (reports_find(folder, &files, why) != 0)
        return NULL;
    json_t *report =
        strcmp(name, "latest") == 0 ? pick_latest(&files, path, why) : pick_by_id(&files, name, path, why);
    reports_free(&files);
    return report;
}
