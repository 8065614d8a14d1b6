/* SPDX-License-Identifier: MIT */
#include "cli/fleet/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/libexec.h"
#include "cli/base/path.h"

#define NAMES_BYTES 1024

extern char **environ;

/* ---- libraries that a small image may lack --------------------------------------------------- */

/* Packages of Debian 12. */
static const struct {
    const char *library, *package;
} packages[] = {
    {"libcurl.so.4", "libcurl4"},       {"libdw.so.1", "libdw1"},
    {"libelf.so.1", "libelf1"},         {"libgnutls.so.30", "libgnutls30"},
    {"libjansson.so.4", "libjansson4"}, {"libmicrohttpd.so.12", "libmicrohttpd12"},
    {"libpq.so.5", "libpq5"},           {"libsqlite3.so.0", "libsqlite3-0"},
    {"libsystemd.so.0", "libsystemd0"}, {"libz.so.1", "zlib1g"},
    {"libzstd.so.1", "libzstd1"},
};

static void add_word(char words[NAMES_BYTES], const char *between, const char *word, size_t length) {
    size_t n = strlen(words);
    snprintf(words + n, NAMES_BYTES - n, "%s%.*s", n > 0 ? between : "", (int)length, word);
}

/* A pipe with what the loader prints; NULL: it could not be run. */
static FILE *list_libraries(const char *path, pid_t *pid) {
    char *words[] = {(char *)path, NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    int rc = posix_spawn(pid, path, &actions, NULL, words, environ);
    unsetenv("LD_TRACE_LOADED_OBJECTS");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *file = rc == 0 ? fdopen(ends[0], "r") : NULL;
    if (file == NULL) {
        close(ends[0]);
    }
    return file;
}

/* True, and which, with the packages of Debian: the loader does not find them for the program `path`. Runs
 * the loader, which lists them, and not the program: an exec would end with the loader's message, which names
 * no package. */
static bool libraries_are_missing(const char *path, struct problem *why) {
    static const char missing[] = " => not found";
    char names[NAMES_BYTES] = "", install[NAMES_BYTES] = "", *line = NULL;
    size_t room = 0;
    pid_t pid;
    FILE *file = list_libraries(path, &pid);
    while (file != NULL && getline(&line, &room, file) > 0) {
        const char *end = strstr(line, missing), *name = line + strspn(line, " \t");
        if (end == NULL || end < name) {
            continue;
        }
        size_t length = (size_t)(end - name);
        add_word(names, ", ", name, length);
        for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++) {
            if (strlen(packages[i].library) == length && strncmp(packages[i].library, name, length) == 0) {
                add_word(install, " ", packages[i].package, strlen(packages[i].package));
            }
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
        waitpid(pid, NULL, 0);
    }
    if (names[0] == '\0') {
        return false;
    }
    error_set(why, "cannot start %s: this system lacks %s", base_name(path), names);
    if (install[0] != '\0') {
        error_try(why, "apt-get install %s", install);
    }
    return true;
}

int fleet_start(const char *program, int argc, char **argv) {
    char path[PATH_MAX];
    struct problem why;
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (words == NULL || !libexec_find(program, path, sizeof path)) {
        free(words);
        return print_error("cannot start %s: its file was not found", program);
    }
    if (libraries_are_missing(path, &why)) {
        free(words);
        return error_print(&why);
    }
    memcpy(words, argv, (size_t)argc * sizeof *words);
    execv(path, words);
    int error = errno;
    free(words);
    if (error == ENOENT) {
        return print_error("cannot start %s: %s is missing; Hangdog was built or installed without it",
                           program, path);
    }
    return print_error("cannot start %s: %s", path, strerror(error));
}

int fleet_check_and_start(const struct command *command, void *options, const char *program, int argc,
                          char **argv) {
    int status, first = options_parse(command, options, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    if (first < argc) {
        return options_wrong_use(command, "unexpected '%s'", argv[first]);
    }
    return fleet_start(program, argc, argv);
}
