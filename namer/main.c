/* SPDX-License-Identifier: MIT
 *
 * hangdog-name FOLDER BUILD-ID: a report comes on the standard input, and goes to the standard output with
 * the names that the debug files of the folder have for its frames. Status 3: the file of this build-id is
 * none of it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/error.h"
#include "cli/reader/symbolicate.h"
#include "namer/jail.h"

#define REPORT_MAX ((size_t)64 << 20)
#define FIRST_BYTES ((size_t)256 << 10)
#define FILES_MAX 512
#define OTHER_FILE 3

struct work {
    json_t *report;
    int fd[FILES_MAX]; /* of the modules' debug files, -1: none */
    const char *build_id;
    bool is_cut; /* the file of the build-id */
    int status;
};

static json_t *read_report(void) {
    size_t bytes = 0, size = FIRST_BYTES;
    char *text = malloc(size);
    ssize_t n = 0;
    while (text != NULL && (n = read(STDIN_FILENO, text + bytes, size - bytes)) > 0) {
        bytes += (size_t)n;
        if (bytes == size) {
            char *more = size < REPORT_MAX ? realloc(text, 2 * size) : NULL;
            if (more == NULL) {
                break;
            }
            text = more;
            size *= 2;
        }
    }
    json_t *report = text != NULL && n == 0 ? json_loadb(text, bytes, 0, NULL) : NULL;
    free(text);
    return report;
}

static bool is_build_id(const char *text) {
    return text != NULL && text[0] != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* The heads of the sections are at the end. libelf takes a file without its end for one without names, and
 * its reports would wait for the whole one no more. */
static bool is_cut(int fd) {
    Elf64_Ehdr head;
    struct stat st;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || fstat(fd, &st) != 0) {
        return true;
    }
    uint64_t size = (uint64_t)st.st_size, heads = (uint64_t)head.e_shnum * head.e_shentsize;
    return head.e_ident[EI_CLASS] == ELFCLASS64 && (head.e_shoff > size || heads > size - head.e_shoff);
}

static void open_files(struct work *w, const char *path) {
    size_t i;
    const json_t *module;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (i = 0; i < FILES_MAX; i++) {
        w->fd[i] = -1;
    }
    json_array_foreach(json_object_get(w->report, "modules"), i, module) {
        const char *id = json_string_value(json_object_get(module, "build_id"));
        if (i < FILES_MAX && is_build_id(id)) {
            w->fd[i] = openat(folder, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
            w->is_cut |= w->fd[i] >= 0 && strcmp(id, w->build_id) == 0 && is_cut(w->fd[i]);
        }
    }
}

/* The symbolizer's file for a path: the `which`-th module of it that has one. It closes what it gets. */
static int open_debug_file(void *work, const char *path, unsigned which) {
    const struct work *w = work;
    size_t i;
    const json_t *module;
    json_array_foreach(json_object_get(w->report, "modules"), i, module) {
        const char *name = json_string_value(json_object_get(module, "path"));
        if (i < FILES_MAX && w->fd[i] >= 0 && name != NULL && strcmp(name, path) == 0 && which-- == 0) {
            return fcntl(w->fd[i], F_DUPFD_CLOEXEC, 0);
        }
    }
    return -1;
}

/* A report without paths has file names; the symbolizer wants a path. `with`: adds a slash, else takes it
 * off. */
static void set_slashes(json_t *report, json_t *added, bool with) {
    size_t i;
    json_t *module;
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        const char *path = json_string_value(json_object_get(module, "path"));
        if (with && path != NULL && strchr(path, '/') == NULL) {
            json_object_set_new(module, "path", json_sprintf("/%s", path));
            json_array_append(added, module);
        }
    }
    json_array_foreach(with ? NULL : added, i, module) {
        json_object_set_new(module, "path",
                            json_string(json_string_value(json_object_get(module, "path")) + 1));
    }
}

/* The file that the report is named for can be read, and has the build-id that it was sent under. */
static bool is_the_file(struct work *w, struct symbolizer *s) {
    struct symbol found[SYMBOLS_MAX];
    const char *reason = NULL;
    size_t i;
    const json_t *module;
    json_array_foreach(json_object_get(w->report, "modules"), i, module) {
        const struct symbol_query q = {
            .path = json_string_value(json_object_get(module, "path")),
            .build_id = json_string_value(json_object_get(module, "build_id")),
        };
        if (q.path != NULL && q.build_id != NULL && strcmp(q.build_id, w->build_id) == 0 &&
            symbolizer_resolve(s, &q, found, &reason) == 0 && reason != NULL) {
            return false;
        }
    }
    return true;
}

static void name_frames(void *work) {
    struct work *w = work;
    const struct symbolizer_options options = {.debug_path = "", .open = open_debug_file, .open_arg = w};
    if (!jail_enter()) {
        fprintf(stderr, "hangdog-name: no seccomp: %s\n", strerror(errno));
        return;
    }
    struct symbolizer *s = symbolizer_create(&options);
    json_t *added = json_array();
    if (s == NULL) {
        return;
    }
    set_slashes(w->report, added, true);
    if (w->is_cut || !is_the_file(w, s)) {
        w->status = OTHER_FILE;
        return;
    }
    report_symbolicate(w->report, s, 0, REPORT_ALL, NULL);
    set_slashes(w->report, added, false);
    if (json_dumpf(w->report, stdout, JSON_COMPACT) == 0 && fflush(stdout) == 0) {
        w->status = 0;
    }
}

int main(int argc, char **argv) {
    struct work w = {.status = EXIT_ERROR};
    if (argc != 3) {
        fputs("usage: hangdog-name FOLDER BUILD-ID; hangdog serve starts it\n", stderr);
        return 2;
    }
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    if (!jail_limit() || (w.report = read_report()) == NULL) {
        return EXIT_ERROR;
    }
    w.build_id = argv[2];
    open_files(&w, argv[1]);
    on_a_deep_stack(name_frames, &w);
    _exit(w.status); /* what the report and the files took goes with the process */
}
