/* SPDX-License-Identifier: MIT
 *
 * Ordinary code, of no system: it is compiled for macOS, and tested on Linux.
 */
#include "cli/run/insert_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/shell_quote.h"
#include "image/macho/insertable.h"

#define SCRIPTS_MAX 5 /* interpreters of interpreters */
#define HEAD_BYTES 512
#define WORD_BYTES 1024

static int read_fd(void *ctx, uint64_t at, void *to, size_t n) {
    const int *fd = ctx;
    return at <= INT64_MAX && pread(*fd, to, n, (off_t)at) == (ssize_t)n ? 0 : -EFAULT;
}

/* System Integrity Protection: programs below these folders lose all variables of the loader. */
static bool is_protected(const char *path) {
    static const char *const folders[] = {"/bin/", "/sbin/", "/usr/", "/System/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return strncmp(path, "/usr/local/", 11) != 0;
        }
    }
    return false;
}

/* ---- why not ---------------------------------------------------------------------------------- */

/* A copy elsewhere is not protected, but an ad-hoc signature must replace its own. */
static void refuse_protected(struct problem *why, const char *it, const char *path) {
    error_set(why, "%s is protected by macOS (%.500s), which drops DYLD_INSERT_LIBRARIES", it, path);
}

static void refuse(struct problem *why, enum hd_insertable how, const char *it, const char *path) {
    static const char *const reasons[] = {
        [HD_INSERT_OTHER_CPU] = "is for another CPU",
        [HD_INSERT_ARM64E] = "has code with signed pointers (arm64e), which Hangdog's library lacks",
        [HD_INSERT_RESTRICTED] = "is restricted, so that macOS drops DYLD_INSERT_LIBRARIES",
        [HD_INSERT_HARDENED] = "has the hardened runtime without the entitlement "
                               "com.apple.security.cs.allow-dyld-environment-variables",
        [HD_INSERT_VALIDATED] = "loads only libraries of its own signer, without the entitlement "
                                "com.apple.security.cs.disable-library-validation",
    };
    char word[WORD_BYTES];
    quote_word(word, sizeof word, path);
    error_set(why, "%s %s", it, reasons[how]);
    if (how == HD_INSERT_HARDENED || how == HD_INSERT_VALIDATED) {
        error_try(why, "codesign --force --sign - %.900s", word); /* without the runtime's flag */
    }
}

/* ---- the file --------------------------------------------------------------------------------- */

/* The interpreter of a script, and the word behind it; false: no script. */
static bool script_words(const char *head, char *path, size_t size, char *word, size_t word_size) {
    if (strncmp(head, "#!", 2) != 0) {
        return false;
    }
    const char *at = head + 2 + strspn(head + 2, " \t");
    size_t n = strcspn(at, " \t\n");
    if (n == 0 || n >= size) {
        return false;
    }
    snprintf(path, size, "%.*s", (int)n, at);
    at += n + strspn(at + n, " \t");
    snprintf(word, word_size, "%.*s", (int)strcspn(at, " \t\n"), at);
    return true;
}

/* A Mach-O file that is broken, or none: the system will say so. */
static bool program_takes_library(int fd, uint64_t bytes, uint32_t cpu, const char *it, const char *path,
                                  struct problem *why) {
    struct hd_insert_facts facts;
    struct hd_memory file = {.read = read_fd, .ctx = &fd};
    enum hd_insertable how = hd_macho_insertable(&file, bytes, cpu, &facts);
    if (how == HD_INSERT_FINE || how == HD_INSERT_NO_PROGRAM) {
        return true;
    }
    refuse(why, how, it, path);
    return false;
}

/* `next`: the interpreter, if the file is a script; else empty. */
static bool file_takes_library(const char *path, const char *it, uint32_t cpu, char next[PATH_MAX],
                               struct problem *why) {
    char head[HEAD_BYTES + 1], real[PATH_MAX], word[WORD_BYTES];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool known = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = known ? pread(fd, head, HEAD_BYTES, 0) : -1;
    bool takes = true;
    head[n > 0 ? n : 0] = '\0';
    next[0] = '\0';
    if (n <= 0) {
        takes = true;
    } else if (script_words(head, next, PATH_MAX, word, sizeof word)) {
        if (strcmp(next, "/usr/bin/env") == 0 && word[0] != '\0' && word[0] != '-') {
            char script[WORD_BYTES];
            quote_word(script, sizeof script, path);
            refuse_protected(why, "its interpreter", next);
            error_try(why, "%.200s run %.200s %.900s", shell_own_command(), word, script);
            takes = false;
        }
    } else if (realpath(path, real) != NULL && is_protected(real)) {
        refuse_protected(why, it, real);
        takes = false;
    } else if ((st.st_mode & (S_ISUID | S_ISGID)) != 0) {
        error_set(why, "%s changes its user (setuid), so that macOS drops DYLD_INSERT_LIBRARIES", it);
        takes = false;
    } else {
        takes = program_takes_library(fd, (uint64_t)st.st_size, cpu, it, path, why);
    }
    if (fd >= 0) {
        close(fd);
    }
    return takes;
}

bool insert_is_possible(const char *path, uint32_t cpu, struct problem *why) {
    char at[PATH_MAX], next[PATH_MAX], it[PATH_MAX + sizeof "its interpreter "];
    snprintf(at, sizeof at, "%s", path);
    for (int i = 0; i < SCRIPTS_MAX && at[0] != '\0'; i++) {
        snprintf(it, sizeof it, "%s%s", i == 0 ? "it" : "its interpreter ", i == 0 ? "" : at);
        if (!file_takes_library(at, it, cpu, next, why)) {
            return false;
        }
        memcpy(at, next, sizeof at);
    }
    return true;
}
