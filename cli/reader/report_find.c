/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/agent_places.h"
#include "cli/base/shell_quote.h"
#include "report/spool_files.h"

/* Services have no HOME: theirs is what systemd names (the first of a list), or of the user's entry. */
static int folder_without_home(char **folder) {
    const char *given = getenv("STATE_DIRECTORY");
    const struct passwd *user = NULL;
    if (given != NULL && given[0] == '/') {
        return asprintf(folder, "%.*s/hangdog", (int)strcspn(given, ":"), given);
    }
    user = getpwuid(geteuid());
    if (user == NULL || user->pw_dir == NULL || user->pw_dir[0] != '/') {
        return 0;
    }
    return asprintf(folder, "%s/.local/state/hangdog", user->pw_dir);
}

char *reports_default_folder(struct problem *why) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *folder = NULL;
    int n = -1;
    if (state != NULL && state[0] == '/') { /* the specification: a relative one is ignored */
        n = asprintf(&folder, "%s/hangdog", state);
    } else if (home != NULL && home[0] == '/') {
        n = asprintf(&folder, "%s/.local/state/hangdog", home);
    } else {
        n = folder_without_home(&folder);
    }
    if (n > 0) {
        return folder;
    }
    if (n < 0) {
        error_set(why, "cannot find the reports: out of memory");
    } else {
        error_set(why, "cannot find the reports: HOME is unset");
    }
    if (n >= 0) {
        error_try(why, "%s list --spool DIR", shell_own_command());
    }
    return NULL;
}

static int add_file(struct report_files *out, const char *folder, const char *name) {
    struct report_file *file = realloc(out->file, (out->count + 1) * sizeof *file);
    if (file == NULL) {
        return -ENOMEM;
    }
    out->file = file;
    file += out->count;
    if (asprintf(&file->path, "%s/%s", folder, name) < 0) {
        return -ENOMEM;
    }
    snprintf(file->id, sizeof file->id, "%.*s", REPORT_ID_CHARS, name);
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
    if (dir == NULL) {
        return -errno;
    }
    errno = 0;
    while (result == 0 && (e = readdir(dir)) != NULL) {
        if (hd_spool_what(e->d_name) == HD_SPOOL_REPORT &&
            !is_link(dir, e)) { /* the folder may have other files */
            result = add_file(out, folder, e->d_name);
        }
        errno = 0;
    }
    if (result == 0) {
        result = -errno;
    }
    closedir(dir);
    return result;
}

void report_set_unread(struct problem *why, const char *path, int error) {
    struct stat st;
    const struct passwd *owner = error == -EACCES && stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
    if (owner != NULL) {
        error_set(why, "cannot read %s: permission denied (owner %s)", path, owner->pw_name);
    } else {
        error_set(why, "cannot read %s: %s", path, strerror(-error));
    }
}

/* Adds the reports of one app. That its folder cannot be read (sudo leaves one of root's) hides no others. */
static int add_app(struct report_files *out, const char *folder) {
    int result = add_folder(out, folder);
    if (result == -ENOMEM || result == 0) {
        return result;
    }
    if (result != -ENOTDIR && result != -ENOENT) {
        struct problem why;
        report_set_unread(&why, folder, result);
        error_print(&why);
        out->unread = true;
    }
    return 0;
}

/* Adds the reports of every folder in `base`, one of each app. */
static int add_apps(struct report_files *out, const char *base) {
    DIR *dir = opendir(base);
    const struct dirent *e;
    int result = 0;
    if (dir == NULL) {
        return errno == ENOENT ? 0 : -errno;
    }
    while (result == 0 && (e = readdir(dir)) != NULL) {
        char *folder;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
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

/* Adds the reports of every user's folder in the agent's spool, `spool`. A user has one, root all. */
static void add_users(struct report_files *out, const char *spool) {
    char path[PATH_MAX];
    DIR *dir = geteuid() == 0 ? opendir(spool) : NULL;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[strspn(e->d_name, "0123456789")] == '\0' &&
            (size_t)snprintf(path, sizeof path, "%s/%s", spool, e->d_name) < sizeof path) {
            (void)add_apps(out, path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    } else {
        snprintf(path, sizeof path, "%s/%u", spool, (unsigned)geteuid());
        (void)add_apps(out, path); /* none where the agent does not run */
    }
}

static int compare_files(const void *a, const void *b) {
    const struct report_file *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order != 0 ? order : strcmp(x->path, y->path);
}

int reports_find(const char *folder, struct report_files *out, struct problem *why) {
    memset(out, 0, sizeof *out);
    out->where = folder != NULL ? strdup(folder) : reports_default_folder(why);
    if (out->where == NULL) {
        return -1;
    }
    int result = folder != NULL ? add_folder(out, folder) : add_apps(out, out->where);
    if (folder != NULL && result == 0 && out->count == 0) {
        result = add_apps(out, folder); /* maybe a folder with a folder for each app */
    }
    if (result == 0 && (folder == NULL || out->count == 0)) {
        add_users(out, folder != NULL ? folder : AGENT_SPOOL);
    }
    if (result < 0) {
        report_set_unread(why, out->where, result);
        error_try(why, "%s list --spool DIR", shell_own_command());
        reports_free(out);
        return -1;
    }
    if (out->count != 0) {
        qsort(out->file, out->count, sizeof out->file[0], compare_files);
    }
    return 0;
}

void reports_free(struct report_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->file[i].path);
    }
    free(files->file);
    free(files->where);
    memset(files, 0, sizeof *files);
}
