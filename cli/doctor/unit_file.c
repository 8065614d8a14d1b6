/* SPDX-License-Identifier: MIT */
#include "cli/doctor/unit_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/path.h"

#define SUFFIX ".service"
#define LINE_BYTES 65536 /* of a setting with all its continuations */

extern char **environ;

static const char search_path[] =
    "/etc/systemd/system.control:/run/systemd/system.control:/run/systemd/transient:/run/systemd/generator.early:"
    "/etc/systemd/system:/etc/systemd/system.attached:/run/systemd/system:/run/systemd/system.attached:"
    "/run/systemd/generator:/usr/local/lib/systemd/system:/usr/lib/systemd/system:/lib/systemd/system:"
    "/run/systemd/generator.late";

/* ---- one file --------------------------------------------------------------------------------- */

static char *trim(char *text) {
    text += strspn(text, " \t\r\n");
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL; n--) {
        text[n - 1] = '\0';
    }
    return text;
}

/* An empty value takes back what was set before. */
static void set(json_t *service, char *line) {
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        return;
    }
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    json_t *values = json_object_get(service, key);
    if (value[0] == '\0') {
        json_object_del(service, key);
    } else if (values != NULL) {
        json_array_append_new(values, json_string_nocheck(value));
    } else {
        json_object_set_new_nocheck(service, key, json_pack("[o]", json_string_nocheck(value)));
    }
}

/* The next setting. Lines that end with a backslash are one line; comments between them do not count. */
static bool read_setting(FILE *file, char *line, size_t size) {
    size_t n = 0;
    char *part = NULL;
    size_t room = 0;
    ssize_t got;
    bool more = true, any = false;
    while (more && (got = getline(&part, &room, file)) > 0) {
        const char *start = part + strspn(part, " \t");
        if (*start == '#' || *start == ';') {
            continue;
        }
        any = true;
        while (got > 0 && (part[got - 1] == '\n' || part[got - 1] == '\r')) {
            part[--got] = '\0';
        }
        more = got > 0 && part[got - 1] == '\\';
        if (more) {
            part[got - 1] = ' ';
        }
        if (n + (size_t)got < size) {
            memcpy(line + n, part, (size_t)got + 1);
            n += (size_t)got;
        }
    }
    free(part);
    return any;
}

static bool read_file(struct unit *u, const char *path) {
    FILE *file = fopen(path, "re");
    char *line = malloc(LINE_BYTES);
    bool of_service = false;
    while (file != NULL && line != NULL) {
        line[0] = '\0';
        if (!read_setting(file, line, LINE_BYTES)) {
            break;
        }
        char *text = trim(line);
        if (*text == '[') {
            of_service = strcmp(text, "[Service]") == 0;
        } else if (of_service) {
            set(u->service, text);
        }
    }
    free(line);
    if (file == NULL) {
        return false;
    }
    fclose(file);
    json_array_append_new(u->files, json_string_nocheck(path));
    return true;
}

static void read_drop_in(struct unit *u, const char *path) {
    if (strcmp(base_name(path), UNIT_DROP_IN) == 0) {
        snprintf(u->drop_in, sizeof u->drop_in, "%s", path);
    } else {
        read_file(u, path);
    }
}

/* ---- by systemd ------------------------------------------------------------------------------- */

/* Reads the output of `systemctl show`; false: no answer. */
static bool query_systemd(const char *name, char *text, size_t size) {
    char *words[] = {
        "systemctl", "show",       "--no-pager", "--property=Id,LoadState,FragmentPath,DropInPaths",
        "--",        (char *)name, NULL};
    int ends[2], status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (getenv("SYSTEMD_UNIT_PATH") != NULL || access("/run/systemd/system", F_OK) != 0 ||
        pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; rc == 0 && n + 1 < size && (got = read(ends[0], text + n, size - 1 - n)) > 0;) {
        n += (size_t)got;
    }
    text[n] = '\0';
    close(ends[0]);
    return rc == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
           n > 0;
}

/* "KEY=VALUE" in its answer, a line each. */
static bool property(const char *text, const char *key, char *value, size_t size) {
    size_t n = strlen(key);
    for (const char *line = text; *line != '\0'; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        if (length > n && strncmp(line, key, n) == 0 && line[n] == '=') {
            snprintf(value, size, "%.*s", (int)(length - n - 1), line + n + 1);
            return value[0] != '\0';
        }
        line += length;
    }
    return false;
}

static bool load_from_systemd(struct unit *u) {
    static char text[65536], paths[32768];
    char path[PATH_MAX], id[UNIT_NAME_BYTES], *rest = NULL;
    if (!query_systemd(u->name, text, sizeof text) || !property(text, "FragmentPath", path, sizeof path) ||
        !read_file(u, path)) {
        return false;
    }
    if (property(text, "Id", id, sizeof id)) {
        memcpy(u->name, id, sizeof id);
    }
    if (property(text, "DropInPaths", paths, sizeof paths)) {
        for (char *at = strtok_r(paths, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest)) {
            read_drop_in(u, at);
        }
    }
    return true;
}

/* ---- by their folders ------------------------------------------------------------------------- */

/* The next folder of a path list, its end at `*path`. */
static bool next_folder(const char **path, char folder[PATH_MAX]) {
    *path += strspn(*path, ":");
    size_t n = strcspn(*path, ":");
    snprintf(folder, PATH_MAX, "%.*s", (int)n, *path);
    *path += n;
    return n > 0;
}

static const char *folders(void) {
    static char all[PATH_MAX + sizeof search_path];
    const char *own = getenv("SYSTEMD_UNIT_PATH");
    if (own == NULL) {
        return search_path;
    }
    size_t n = strlen(own);
    snprintf(all, sizeof all, "%.*s%s", PATH_MAX - 1, own, n > 0 && own[n - 1] == ':' ? search_path : "");
    return all;
}

/* "postgresql@.service" for an instance; empty for another unit. */
static void template_of(const char *name, char of[UNIT_NAME_BYTES]) {
    const char *at = strchr(name, '@');
    snprintf(of, UNIT_NAME_BYTES, "%.*s%s", at != NULL ? (int)(at - name + 1) : 0, name,
             at != NULL ? SUFFIX : "");
}

static bool find_file(struct unit *u, const char *name) {
    char folder[PATH_MAX], path[PATH_MAX + UNIT_NAME_BYTES], real[PATH_MAX];
    for (const char *at = folders(); name[0] != '\0' && next_folder(&at, folder);) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (access(path, R_OK) == 0 && read_file(u, path)) {
            bool alias =
                realpath(path, real) != NULL && strchr(name, '@') == NULL && strstr(real, SUFFIX) != NULL;
            if (alias && strlen(base_name(real)) < sizeof u->name) {
                memcpy(u->name, base_name(real), strlen(base_name(real)) + 1);
            }
            return true;
        }
    }
    return false;
}

static int by_file_name(const void *a, const void *b) {
    return strcmp(base_name(*(char *const *)a), base_name(*(char *const *)b));
}

/* Of files with one name the first is valid. */
static void add_drop_ins(json_t *found, const char *folder) {
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0 && json_object_get(found, e->d_name) == NULL) {
            json_object_set_new_nocheck(found, e->d_name, json_sprintf("%s/%s", folder, e->d_name));
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void find_drop_ins(struct unit *u) {
    char of[UNIT_NAME_BYTES], folder[PATH_MAX], path[PATH_MAX + UNIT_NAME_BYTES];
    const char *names[] = {u->name, of, "service"};
    json_t *found = json_object(), *value;
    const char *key;
    template_of(u->name, of);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (const char *at = folders(); names[i][0] != '\0' && next_folder(&at, folder);) {
            snprintf(path, sizeof path, "%s/%s.d", folder, names[i]);
            add_drop_ins(found, path);
        }
    }
    size_t n = json_object_size(found), i = 0;
    const char **paths = calloc(n + 1, sizeof *paths);
    json_object_foreach(found, key, value) {
        if (paths != NULL) {
            paths[i++] = json_string_value(value);
        }
    }
    if (paths != NULL) {
        qsort(paths, n, sizeof *paths, by_file_name);
        for (i = 0; i < n; i++) {
            read_drop_in(u, paths[i]);
        }
    }
    free(paths);
    json_decref(found);
}

/* ---- a unit ----------------------------------------------------------------------------------- */

static void set_names(struct unit *u) {
    const char *at = strchr(u->name, '@');
    int plain = (int)(strlen(u->name) - strlen(SUFFIX));
    snprintf(u->plain, sizeof u->plain, "%.*s", plain, u->name);
    snprintf(u->app, sizeof u->app, "%.*s", at != NULL ? (int)(at - u->name) : plain, u->name);
    snprintf(u->instance, sizeof u->instance, "%s", at != NULL ? u->plain + (at - u->name) + 1 : "");
}

bool unit_load(struct unit *u, const char *name, struct problem *why) {
    char of[UNIT_NAME_BYTES];
    *u = (struct unit){.files = json_array(), .service = json_object()};
    size_t n = strlen(name), suffix = strlen(SUFFIX);
    bool whole = n > suffix && strcmp(name + n - suffix, SUFFIX) == 0;
    bool fits = n > 0 && n + suffix < sizeof u->name && strchr(name, '/') == NULL;
    if (fits) {
        snprintf(u->name, sizeof u->name, "%s%s", name, whole ? "" : SUFFIX);
        template_of(u->name, of);
    }
    bool found = fits && load_from_systemd(u);
    if (fits && !found && (find_file(u, u->name) || find_file(u, of))) {
        find_drop_ins(u);
        found = true;
    }
    if (!found) {
        error_set(why, "there is no unit %.200s%s", name, whole ? "" : SUFFIX);
        error_try(why, "systemctl list-unit-files --type=service");
        unit_free(u);
        return false;
    }
    set_names(u);
    return true;
}

void unit_free(struct unit *u) {
    json_decref(u->files);
    json_decref(u->service);
    u->files = u->service = NULL;
}

const json_t *unit_values(const struct unit *u, const char *key) {
    return json_object_get(u->service, key);
}

const char *unit_value(const struct unit *u, const char *key) {
    const json_t *all = unit_values(u, key);
    size_t n = json_array_size(all);
    return n > 0 ? json_string_value(json_array_get(all, n - 1)) : "";
}

bool unit_is_true(const struct unit *u, const char *key) {
    static const char *const words[] = {"1", "yes", "y", "true", "t", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(unit_value(u, key), words[i]) == 0) {
            return true;
        }
    }
    return false;
}
