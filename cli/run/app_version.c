/* SPDX-License-Identifier: MIT */
#include "cli/run/app_version.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/path.h"

#define LEVELS_MAX 9         /* folders to search: the first one, and eight above */
#define BYTES_MAX (1L << 20) /* largest file to read, except dpkg's */
#define COMMIT_DIGITS 12

/* Paths are static variables, since the user may limit the stack to 64 KiB. Only one thread runs this code.
 */

/* Opens only a regular file, since a pipe or a device could block. NULL: cannot be read. */
static FILE *open_regular(const char *path, long bytes_max) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= bytes_max) {
        return fdopen(fd, "r");
    }
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

/* `folder` becomes the one above; false: there is no other. */
static bool go_up(char *folder) {
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash[1] == '\0') {
        return false;
    }
    slash[slash == folder ? 1 : 0] = '\0';
    return true;
}

/* The file's own folder; of a folder, itself. */
static bool folder_of(const char *file, char folder[PATH_MAX]) {
    struct stat st;
    return realpath(file, folder) != NULL && stat(folder, &st) == 0 && (S_ISDIR(st.st_mode) || go_up(folder));
}

/* ---- package.json ------------------------------------------------------------------------------- */

bool app_version_package_json(const char *file, const char *member, char *text, size_t size) {
    static char folder[PATH_MAX], path[PATH_MAX + 16];
    bool is_there = folder_of(file, folder);
    for (unsigned i = 0; is_there && i < LEVELS_MAX; i++) {
        snprintf(path, sizeof path, "%s/package.json", folder);
        FILE *from = open_regular(path, BYTES_MAX);
        if (from != NULL) {
            json_t *package = json_loadf(from, 0, NULL);
            const char *value = json_string_value(json_object_get(package, member));
            snprintf(text, size, "%s", value != NULL ? value : "");
            json_decref(package);
            fclose(from);
            return text[0] != '\0';
        }
        is_there = go_up(folder);
    }
    return false;
}

/* ---- git ---------------------------------------------------------------------------------------- */

static bool read_line(const char *folder, const char *name, char *line, size_t size) {
    static char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *from = open_regular(path, BYTES_MAX);
    bool done = from != NULL && fgets(line, (int)size, from) != NULL;
    if (from != NULL) {
        fclose(from);
    }
    line[done ? strcspn(line, "\n") : 0] = '\0';
    return done;
}

/* The repository's folder; a worktree has a file there, which names it. */
static bool git_folder(const char *file, char found[PATH_MAX]) {
    static char folder[PATH_MAX], line[PATH_MAX], path[2 * PATH_MAX];
    struct stat st;
    bool is_there = folder_of(file, folder);
    for (unsigned i = 0; is_there && i < LEVELS_MAX; i++) {
        snprintf(path, sizeof path, "%s/.git", folder);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            return realpath(path, found) != NULL;
        }
        if (read_line(folder, ".git", line, sizeof line) && strncmp(line, "gitdir: /", 9) == 0) {
            return realpath(line + strlen("gitdir: "), found) != NULL;
        }
        is_there = go_up(folder);
    }
    return false;
}

static bool is_commit(const char *text) {
    size_t n = strspn(text, "0123456789abcdef");
    return (n == 40 || n == 64) && !isalnum((unsigned char)text[n]);
}

/* The line "COMMIT REF" of packed-refs. `wanted`: a reference's name, whose commit is found; or NULL, and a
 * tag of `commit` is found. A tag with a text of its own has its commit in the line behind it. */
static bool find_packed(const char *git, const char *wanted, char *commit, char *tag, size_t size) {
    static char path[PATH_MAX + 16], line[PATH_MAX], last[PATH_MAX];
    bool found = false;
    last[0] = '\0';
    snprintf(path, sizeof path, "%s/packed-refs", git);
    FILE *from = open_regular(path, BYTES_MAX);
    while (from != NULL && !found && fgets(line, sizeof line, from) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *digits = line + (line[0] == '^'), *name = strchr(line, ' ');
        if (!is_commit(digits)) {
            continue;
        }
        if (name != NULL) {
            snprintf(last, sizeof last, "%s", name + 1);
        }
        if (wanted != NULL) {
            found = strcmp(last, wanted) == 0;
            snprintf(commit, PATH_MAX, "%s", found ? line : "");
        } else if (strncmp(digits, commit, strspn(commit, "0123456789abcdef")) == 0 &&
                   strncmp(last, "refs/tags/", 10) == 0) {
            snprintf(tag, size, "%s", last + strlen("refs/tags/"));
            found = true;
        }
    }
    if (from != NULL) {
        fclose(from);
    }
    return found;
}

/* Tags since the last `git gc`: files. One with a text of its own names an object that only git can read. */
static bool find_loose_tag(const char *git, const char *commit, char *tag, size_t size) {
    static char path[PATH_MAX + 16], line[PATH_MAX];
    bool found = false;
    snprintf(path, sizeof path, "%s/refs/tags", git);
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder != NULL && !found && (e = readdir(folder)) != NULL;) {
        found =
            e->d_name[0] != '.' && read_line(path, e->d_name, line, sizeof line) && strcmp(line, commit) == 0;
        snprintf(tag, size, "%s", found ? e->d_name : "");
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* References of a worktree are in the repository that it belongs to. */
static void git_common(const char *git, char common[PATH_MAX]) {
    static char line[PATH_MAX], path[2 * PATH_MAX];
    snprintf(common, PATH_MAX, "%s", git);
    if (read_line(git, "commondir", line, sizeof line)) {
        snprintf(path, sizeof path, "%s%s%s", line[0] == '/' ? "" : git, line[0] == '/' ? "" : "/", line);
        if (realpath(path, common) == NULL) {
            snprintf(common, PATH_MAX, "%s", git);
        }
    }
}

bool app_version_git(const char *file, char *text, size_t size) {
    static char git[PATH_MAX], common[PATH_MAX], commit[PATH_MAX];
    if (!git_folder(file, git) || !read_line(git, "HEAD", commit, sizeof commit)) {
        return false;
    }
    git_common(git, common);
    if (strncmp(commit, "ref: refs/", 10) == 0 && strstr(commit, "..") == NULL) {
        static char name[PATH_MAX];
        snprintf(name, sizeof name, "%s", commit + strlen("ref: "));
        if (!read_line(common, name, commit, sizeof commit)) {
            find_packed(common, name, commit, NULL, 0);
        }
    }
    if (!is_commit(commit)) {
        return false;
    }
    if (!find_loose_tag(common, commit, text, size) && !find_packed(common, NULL, commit, text, size)) {
        snprintf(text, size, "%.*s", COMMIT_DIGITS, commit);
    }
    return true;
}

/* ---- Debian ------------------------------------------------------------------------------------- */

static bool has_line(const char *path, const char *wanted) {
    size_t n = strlen(wanted), room = 0;
    char *line = NULL;
    bool found = false;
    FILE *from = open_regular(path, LONG_MAX);
    while (from != NULL && !found && getline(&line, &room, from) > 0) {
        found = strncmp(line, wanted, n) == 0 && line[n] == '\n';
    }
    free(line);
    if (from != NULL) {
        fclose(from);
    }
    return found;
}

/* In dpkg's list of packages, each a paragraph that starts with its name. */
static bool version_of_package(const char *package, char *text, size_t size) {
    static const char key[] = "Version: ";
    size_t n = strlen(package), room = 0;
    char *line = NULL;
    bool inside = false;
    FILE *from = open_regular("/var/lib/dpkg/status", LONG_MAX);
    text[0] = '\0';
    while (from != NULL && text[0] == '\0' && getline(&line, &room, from) > 0) {
        if (strncmp(line, "Package: ", 9) == 0) {
            inside = strncmp(line + 9, package, n) == 0 && line[9 + n] == '\n';
        } else if (inside && strncmp(line, key, strlen(key)) == 0) {
            snprintf(text, size, "%.*s", (int)strcspn(line + strlen(key), "\n"), line + strlen(key));
        }
    }
    free(line);
    if (from != NULL) {
        fclose(from);
    }
    return text[0] != '\0';
}

bool app_version_debian(const char *file, char *text, size_t size) {
    static char path[PATH_MAX];
    const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : "";
    snprintf(path, sizeof path, "/var/lib/dpkg/info/%.200s.list", name);
    return file[0] == '/' && has_line(path, file) && version_of_package(name, text, size);
}
