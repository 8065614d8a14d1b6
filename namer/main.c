/* SPDX-License-Identifier: MIT
 *
 * hangdog-name FOLDER: adds names to a report, from stdin to stdout. The names come from the checked debug
 * files of the folder.
 *
 * hangdog-name --check FOLDER BUILD-ID: checks that the file of this name can be read, and has this build-id.
 * Status 3: no, and the standard output says why. Another status says nothing about the file.
 * hangdog-name --look-up: see look_up.h.
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
#include "cli/base/memory_limit.h"
#include "cli/base/old_libc.h"
#include "cli/reader/symbolicate.h"
#include "namer/jail.h"
#include "namer/look_up.h"
#include "symbolizer/macho_file.h"

#define REPORT_MAX ((size_t)64 << 20)
#define FIRST_BYTES ((size_t)256 << 10)
#define FILES_MAX 512
#define BAD_FILE 3

struct work {
    json_t *report;
    int fd[FILES_MAX]; /* of the modules' debug files, -1: none */
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

/* -1: there is none. */
static int open_debug_file(int folder, const char *id) {
    return is_build_id(id) ? openat(folder, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
}

/* ---- one report ------------------------------------------------------------------------------- */

/* The collector takes the owner's right to write from a file that was checked. */
static bool is_checked(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IWUSR) == 0;
}

static void open_files(struct work *w, const char *path) {
    size_t i;
    const json_t *module;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (i = 0; i < FILES_MAX; i++) {
        w->fd[i] = -1;
    }
    json_array_foreach(json_object_get(w->report, "modules"), i, module) {
        int fd = i < FILES_MAX
                     ? open_debug_file(folder, json_string_value(json_object_get(module, "build_id")))
                     : -1;
        if (fd >= 0 && is_checked(fd)) {
            w->fd[i] = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

/* The symbolizer's file for a path of set_paths. It closes what it gets. */
static int open_module(void *work, const char *path, unsigned which) {
    const struct work *w = work;
    unsigned long i = strtoul(path + 1, NULL, 10);
    return which == 0 && i < FILES_MAX && w->fd[i] >= 0 ? fcntl(w->fd[i], F_DUPFD_CLOEXEC, 0) : -1;
}

/* The sender's paths mean nothing here, and a path with an odd form would be refused: each module gets
 * "/NUMBER". Returns the paths that were there. */
static json_t *set_paths(json_t *report) {
    size_t i;
    json_t *module, *before = json_array();
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        json_t *path = json_object_get(module, "path");
        json_array_append(before, path != NULL ? path : json_null());
        json_object_set_new(module, "path", json_sprintf("/%zu", i));
    }
    return before;
}

static void put_paths_back(json_t *report, const json_t *before) {
    size_t i;
    json_t *module;
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        json_t *path = json_array_get(before, i);
        if (json_is_null(path)) {
            json_object_del(module, "path");
        } else {
            json_object_set(module, "path", path);
        }
    }
}

static void name_frames(void *work) {
    struct work *w = work;
    const struct symbolizer_options options = {.debug_path = "", .open = open_module, .open_arg = w};
    if (!jail_enter(JAIL_READS_OPEN)) {
        fprintf(stderr, "hangdog-name: no seccomp: %s\n", strerror(errno));
        return;
    }
    struct symbolizer *s = symbolizer_create(&options);
    if (s == NULL) {
        return;
    }
    json_t *paths = set_paths(w->report);
    report_symbolicate(w->report, s, 0, REPORT_ALL, NULL);
    put_paths_back(w->report, paths);
    if (json_dumpf(w->report, stdout, JSON_COMPACT) == 0 && fflush(stdout) == 0) {
        w->status = 0;
    }
}

/* ---- one file --------------------------------------------------------------------------------- */

struct check {
    int fd;
    const char *build_id;
    int status;
};

/* True: the file is truncated. Section headers are at the end, and libelf treats a file without them as one
 * without names. Reports would then no longer wait for the whole file. */
static bool is_cut(int fd, const Elf64_Ehdr *head) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return true;
    }
    uint64_t size = (uint64_t)st.st_size, heads = (uint64_t)head->e_shnum * head->e_shentsize;
    return head->e_ident[EI_CLASS] == ELFCLASS64 && (head->e_shoff > size || heads > size - head->e_shoff);
}

static int open_checked(void *check, const char *path, unsigned which) {
    const struct check *c = check;
    (void)path;
    return which == 0 ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Why the file is bad; NULL: it is not. Looks one place up, so that a file that ends the parser ends it
 * here. */
static const char *fault_of(const struct check *c, struct symbolizer *s) {
    struct symbol found[SYMBOLS_MAX];
    Elf64_Ehdr head;
    const char *reason = NULL;
    if (macho_file_is(c->fd)) {
        head.e_entry = 0;
    } else if (pread(c->fd, &head, sizeof head, 0) != (ssize_t)sizeof head || is_cut(c->fd, &head)) {
        return "it is no ELF and no Mach-O file, or its end is missing";
    }
    const struct symbol_query q = {.path = "/file", .build_id = c->build_id, .offset = head.e_entry};
    symbolizer_resolve(s, &q, found, &reason);
    return reason;
}

static void check_file(void *check) {
    struct check *c = check;
    const struct symbolizer_options options = {.debug_path = "", .open = open_checked, .open_arg = c};
    if (!jail_enter(JAIL_READS_OPEN)) {
        fprintf(stderr, "hangdog-name: no seccomp: %s\n", strerror(errno));
        return;
    }
    struct symbolizer *s = symbolizer_create(&options);
    const char *fault = s != NULL ? fault_of(c, s) : NULL;
    bool is_ours = s == NULL || (fault != NULL && (strstr(fault, "out of memory") != NULL ||
                                                   strstr(fault, strerror(ENOMEM)) != NULL));
    if (fault != NULL && !is_ours && fputs(fault, stdout) >= 0 && fflush(stdout) == 0) {
        c->status = BAD_FILE;
    } else if (!is_ours) {
        c->status = fault == NULL ? 0 : EXIT_ERROR;
    }
}

static int check(const char *folder, const char *build_id) {
    struct check c = {.build_id = build_id, .status = EXIT_ERROR};
    c.fd = open_debug_file(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), build_id);
    if (c.fd >= 0) {
        on_a_deep_stack(check_file, &c);
    }
    return c.status;
}

static int name(const char *folder) {
    static struct work w = {.status = EXIT_ERROR};
    w.report = read_report();
    if (w.report != NULL) {
        open_files(&w, folder);
        on_a_deep_stack(name_frames, &w);
    }
    return w.status;
}

int main(int argc, char **argv) {
    bool checks = argc == 4 && strcmp(argv[1], "--check") == 0;
    bool looks_up = argc == 4 && strcmp(argv[1], "--look-up") == 0;
    if (argc != 2 && !checks && !looks_up) {
        fputs(
            "usage: hangdog-name FOLDER | --check FOLDER BUILD-ID | --look-up USER given|named; hangdog starts "
            "it\n",
            stderr);
        return EXIT_USAGE;
    }
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    memory_keep_to_room();
    if (looks_up) {
        _exit(look_up((uid_t)strtoul(argv[2], NULL, 10), strcmp(argv[3], "given") == 0));
    }
    if (!jail_limit(JAIL_READS_OPEN)) {
        return EXIT_ERROR;
    }
    /* the end of the process frees all memory */
    _exit(checks ? check(argv[2], argv[3]) : name(argv[1]));
}
