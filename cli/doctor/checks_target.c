/* SPDX-License-Identifier: MIT */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/path.h"
#include "cli/base/proc.h"
#include "cli/base/program_find.h"
#include "cli/base/shell_quote.h"
#include "cli/run/preload_path.h"
#include "cli/run/program_check.h"

#define FIX_BYTES (5 * PATH_MAX)

/* ---- the file -------------------------------------------------------------------------------- */

/* The names that a program's file has: none, only functions, or lines too. */
enum names {
    NAMES_UNKNOWN,
    NAMES_NONE,
    NAMES_FUNCTIONS,
    NAMES_LINES
};

static enum names names_of(const char *path) {
    enum names names = NAMES_UNKNOWN;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    size_t strings;
    if (elf != NULL && elf_kind(elf) == ELF_K_ELF && elf_getshdrstrndx(elf, &strings) == 0) {
        names = NAMES_NONE;
        for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
            GElf_Shdr header;
            const char *name =
                gelf_getshdr(s, &header) != NULL ? elf_strptr(elf, strings, header.sh_name) : NULL;
            if (name != NULL && strcmp(name, ".debug_info") == 0) {
                names = NAMES_LINES;
            } else if (header.sh_type == SHT_SYMTAB && names == NAMES_NONE) {
                names = NAMES_FUNCTIONS;
            }
        }
    }
    elf_end(elf);
    if (fd >= 0) {
        close(fd);
    }
    return names;
}

static bool starts_with(const char *name, const char *start) {
    return strncmp(name, start, strlen(start)) == 0;
}

/* Interpreters name their functions by a map. `pid` 0: it is not running. */
static bool check_interpreter(struct checks *c, const char *file, pid_t pid) {
    const char *name = base_name(file);
    char map[64];
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)pid);
    bool mapped = pid != 0 && access(map, R_OK) == 0;
    if (starts_with(name, "node")) {
        checks_add(c, "names", CHECK_OK, NULL, "JavaScript functions of node 18 to 24 have names");
        return true;
    }
    for (int minor = 8; minor <= 14; minor++) {
        char known[24];
        snprintf(known, sizeof known, "python3.%d", minor);
        if (strcmp(name, known) == 0) {
            checks_add(c, "names", CHECK_OK, NULL, "functions of CPython 3.8 to 3.14 have names");
            return true;
        }
    }
    if (starts_with(name, "python")) {
        checks_add(c, "names", mapped ? CHECK_OK : CHECK_WARN,
                   mapped ? NULL : "hangdog run -- python3 -X perf FILE",
                   mapped ? "%s names Python functions"
                          : "%sPython functions have names in CPython 3.8 to 3.14, else by a map",
                   mapped ? map : "");
        return true;
    }
    return false;
}

/* `name`: of the file, for a user. */
static void check_names(struct checks *c, const char *file, const char *name, pid_t pid) {
    char real[PATH_MAX];
    if (check_interpreter(c, realpath(file, real) != NULL ? real : file, pid)) {
        return;
    }
    switch (names_of(file)) {
    case NAMES_LINES:
        checks_add(c, "names", CHECK_OK, NULL, "%s has functions and lines", name);
        break;
    case NAMES_FUNCTIONS:
        checks_add(c, "names", CHECK_OK, NULL, "%s has functions; lines need -g or its debug package", name);
        break;
    case NAMES_NONE:
        checks_add(
            c, "names", CHECK_WARN, NULL,
            "%s is stripped: its functions are module+offset; install its debug package, or build with -g",
            name);
        break;
    case NAMES_UNKNOWN:
        break;
    }
}

void target_checks_program(struct checks *c, char *const *words) {
    const char *program = program_named(words);
    char path[PATH_MAX], elf[PATH_MAX], fix[FIX_BYTES], word[4 * PATH_MAX];
    struct problem why;
    if (!program_find(program, path, sizeof path) || access(path, F_OK) != 0) {
        checks_add(c, "program", CHECK_FAIL, NULL, "%s was not found%s", program,
                   strchr(program, '/') == NULL ? " in PATH" : "");
        return;
    }
    if (access(path, X_OK) != 0) {
        quote_word(word, sizeof word, path);
        snprintf(fix, sizeof fix, "chmod +x %s", word);
        bool one = program_begins_as_one(path);
        checks_add(c, "program", CHECK_FAIL, one ? fix : NULL, "%s is %s", path,
                   one ? "not executable" : "no program");
        return;
    }
    if (program_lacks(program, &why) || !program_can_be_watched(program, &why)) {
        checks_add(c, "program", CHECK_FAIL, why.command, "%s", why.text);
        return;
    }
    checks_add(c, "program", CHECK_OK, NULL, "%s can be watched", path);
    const char *file = program_executed(program, elf) ? elf : path;
    check_names(c, file, base_name(file), 0);
}

/* ---- a process ------------------------------------------------------------------------------- */

/* True: the caller may read the process's memory, as hangdog dump must. */
static bool can_be_read(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* The name by which the program was started: Debian's redis-server is a link to redis-check-rdb. The kernel
 * keeps 15 characters, so a longer name is the file's. */
static const char *name_of_process(pid_t pid, const char *file, char *name, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *in = fopen(path, "re");
    bool known = in != NULL && fgets(name, (int)size, in) != NULL;
    if (in != NULL) {
        fclose(in);
    }
    if (known) {
        name[strcspn(name, "\n")] = '\0';
    }
    return known && name[0] != '\0' && strlen(name) < 15 ? name : base_name(file);
}

void target_checks_process(struct checks *c, pid_t pid) {
    char path[64], file[PATH_MAX], fix[FIX_BYTES], comm[64];
    struct problem why;
    if (proc_stat(pid).state == 0) {
        checks_add(c, "process", CHECK_FAIL, NULL, "no process %d", (int)pid);
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(path, file, sizeof file - 1);
    file[n > 0 ? n : 0] = '\0';
    if (!can_be_read(pid)) {
        bool other = proc_number(pid, "Uid:", 10) != geteuid();
        snprintf(fix, sizeof fix, "sudo %s dump %d", shell_own_command(), (int)pid);
        checks_add(c, "process", geteuid() == 0 ? CHECK_FAIL : CHECK_WARN, geteuid() == 0 ? NULL : fix,
                   "%d cannot be read: %s%s", (int)pid, strerror(errno),
                   other && geteuid() != 0 ? " (another user's)" : "");
        return;
    }
    const char *name = name_of_process(pid, file, comm, sizeof comm);
    checks_add(c, "process", CHECK_OK, NULL, "%d (%s) can be read: hangdog dump %d", (int)pid, name,
               (int)pid);
    if (preload_is_in(pid)) {
        checks_add(c, "watch", CHECK_OK, NULL, "hangdog run watches it");
    } else if (!program_can_be_watched(path, &why)) {
        bool outside = strcmp(why.command, PROGRAM_ATTACH) == 0;
        snprintf(fix, sizeof fix, "hangdog attach %d", (int)pid);
        checks_add(c, "watch", CHECK_WARN, outside ? fix : why.command, "it cannot be watched%s: %s",
                   outside ? " but from outside" : "", why.text);
    } else {
        snprintf(fix, sizeof fix, "hangdog attach %d", (int)pid);
        checks_add(c, "watch", CHECK_WARN, fix, "it is not watched: its hangs are not recorded");
    }
    check_names(c, path, name, pid);
}
