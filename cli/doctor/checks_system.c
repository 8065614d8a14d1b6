/* SPDX-License-Identifier: MIT */
#include "cli/doctor/checks.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/path.h"
#include "cli/base/proc.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/report_find.h"
#include "cli/run/preload_path.h"
#include "cli/run/seccomp_trial.h"

#define SPACE_LEAST (64ULL << 20)
#define COMMAND_BYTES (10 * PATH_MAX)

static void check_preload(struct checks *c) {
    char path[PATH_MAX];
    struct problem why;
    if (preload_path(path, sizeof path, &why)) {
        checks_add(c, "preload", CHECK_OK, NULL, "%s, glibc %s", base_name(path), gnu_get_libc_version());
    } else {
        checks_add(c, "preload", CHECK_FAIL, why.command, "%s", why.text);
    }
}

/* ---- the spool ------------------------------------------------------------------------------- */

static const char *owner_of(const struct stat *st, char text[64]) {
    const struct passwd *user = getpwuid(st->st_uid);
    if (user != NULL) {
        snprintf(text, 64, "%s", user->pw_name);
    } else {
        snprintf(text, 64, "user %u", (unsigned)st->st_uid);
    }
    return text;
}

/* "~/x" for what is in the user's home. In `text`, which is returned. */
static const char *from_home(char text[PATH_MAX], const char *path) {
    const char *home = getenv("HOME");
    size_t n = home != NULL ? strlen(home) : 0;
    bool inside = n > 1 && strncmp(path, home, n) == 0 && path[n] == '/';
    snprintf(text, PATH_MAX, "%s%s", inside ? "~" : "", inside ? path + n : path);
    return text;
}

/* The same as a word for a shell, which expands only what is not quoted. */
static void path_word(char *word, size_t size, const char *path) {
    char shorter[PATH_MAX];
    quote_word(word, size, path);
    if (strcmp(word, path) == 0) {
        snprintf(word, size, "%s", from_home(shorter, path));
    }
}

/* The folder, or that above it where it will be made. */
static bool nearest_folder(char *path, struct stat *st) {
    while (stat(path, st) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT) {
            return false;
        }
        if (slash == NULL) { /* in the working folder */
            return snprintf(path, PATH_MAX, ".") > 0 && stat(path, st) == 0;
        }
        slash[slash == path ? 1 : 0] = '\0'; /* the root stays */
    }
    return true;
}

static void check_space(struct checks *c, const char *folder, const char *where) {
    struct statvfs fs;
    if (statvfs(folder, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < SPACE_LEAST) {
        checks_add(c, "spool", CHECK_WARN, NULL, "%s: %llu MiB are free on its disk", where,
                   (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 20));
    } else {
        checks_add(c, "spool", CHECK_OK, NULL, "%s", where);
    }
}

/* One folder: the spool, or an app's in it. True where it can be written, or made. */
static bool check_folder(struct checks *c, const char *folder) {
    char nearest[PATH_MAX], shown[PATH_MAX], owner[64], word[4 * PATH_MAX], fix[COMMAND_BYTES];
    struct stat st;
    snprintf(nearest, sizeof nearest, "%s", folder);
    if (!nearest_folder(nearest, &st)) {
        checks_add(c, "spool", CHECK_FAIL, NULL, "%s: %s", folder, strerror(errno));
        return false;
    }
    path_word(word, sizeof word, nearest);
    from_home(shown, nearest);
    if (!S_ISDIR(st.st_mode)) {
        snprintf(fix, sizeof fix, "mv %s %s.old", word, word);
        checks_add(c, "spool", CHECK_FAIL, fix, "%s is no folder", shown);
        return false;
    }
    if (access(nearest, R_OK | W_OK | X_OK) == 0) {
        return true;
    }
    if (errno == EROFS) {
        checks_add(c, "spool", CHECK_FAIL, "hangdog run --spool DIR -- PROGRAM", "%s is on a read-only disk",
                   shown);
    } else if (st.st_uid != geteuid()) {
        snprintf(fix, sizeof fix, "sudo chown -R \"$USER\" %s", word);
        checks_add(c, "spool", CHECK_FAIL, fix, "%s belongs to %s", shown, owner_of(&st, owner));
    } else {
        snprintf(fix, sizeof fix, "chmod u+rwx %s", word);
        checks_add(c, "spool", CHECK_FAIL, fix, "%s cannot be written: %s", shown, strerror(errno));
    }
    return false;
}

/* The folders of apps, which a run as another user may have made. True: all can be written. */
static bool check_apps(struct checks *c, const char *folder) {
    DIR *dir = opendir(folder);
    bool all = true;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[PATH_MAX];
        if (e->d_name[0] != '.' && e->d_type == DT_DIR &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path) {
            all &= check_folder(c, path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return all;
}

static void check_spool(struct checks *c, const char *spool) {
    struct problem why;
    struct report_files files;
    struct stat st;
    char where[PATH_MAX + 64], nearest[PATH_MAX], shown[PATH_MAX];
    char *folder = spool != NULL ? strdup(spool) : reports_default_folder(&why);
    if (folder == NULL) {
        checks_add(c, "spool", CHECK_FAIL, why.command, "%s", why.text);
        return;
    }
    if (check_folder(c, folder) && check_apps(c, folder)) {
        snprintf(nearest, sizeof nearest, "%s", folder);
        nearest_folder(nearest, &st);
        if (access(folder, F_OK) != 0) {
            snprintf(where, sizeof where, "%s, which the first run makes", from_home(shown, folder));
        } else if (reports_find(spool, &files, &why) == 0) {
            snprintf(where, sizeof where, "%s, reports: %zu", from_home(shown, folder), files.count);
            reports_free(&files);
        }
        check_space(c, nearest, where);
    }
    free(folder);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void check_proc(struct checks *c) {
    if (!proc_is_ours()) {
        checks_add(c, "proc", CHECK_FAIL, "sudo mount -t proc proc /proc",
                   "/proc is of another PID namespace, or is not mounted: no stacks, no causes");
    } else {
        checks_add(c, "proc", CHECK_OK, NULL, "/proc is of this PID namespace");
    }
}

static int ptrace_scope(void) {
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file != NULL) {
        scope = fscanf(file, "%d", &scope) == 1 ? scope : 0;
        fclose(file);
    }
    return scope;
}

static void check_dump(struct checks *c) {
    int scope = ptrace_scope();
    bool traces = (proc_number(0, "CapEff:", 16) >> 19 & 1) != 0; /* CAP_SYS_PTRACE */
    if (scope >= 3) {
        checks_add(c, "dump", CHECK_WARN, NULL,
                   "no process can be read until the next boot (kernel.yama.ptrace_scope = %d)", scope);
    } else if (traces || scope == 0) {
        checks_add(c, "dump", CHECK_OK, NULL,
                   traces ? "each program can be read" : "your own programs can be read");
    } else {
        checks_add(c, "dump", CHECK_WARN, scope == 1 ? "sudo sysctl kernel.yama.ptrace_scope=0" : NULL,
                   "other programs need root (kernel.yama.ptrace_scope = %d)", scope);
    }
}

static void check_seccomp(struct checks *c) {
    const char *deadly = seccomp_deadly_call(false);
    int filters = deadly == NULL ? seccomp_trial_filters() : 0;
    if (deadly != NULL) {
        checks_add(c, "seccomp", CHECK_FAIL, NULL,
                   "a seccomp filter of this shell or container ends a process that calls %s: let it pass",
                   deadly);
    } else if (filters < 0) {
        checks_add(c, "seccomp", CHECK_WARN, NULL,
                   "a seccomp filter of this shell or container may end a program that is watched");
    } else if (filters > 0) {
        checks_add(c, "seccomp", CHECK_OK, NULL, "the filters here (%d) let each call of the watch pass",
                   filters);
    } else {
        checks_add(c, "seccomp", CHECK_OK, NULL, "no filter");
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

struct libc {
    unsigned char id[64];
    size_t bytes;
};

static int note_libc(struct dl_phdr_info *info, size_t size, void *libc) {
    struct libc *to = libc;
    (void)size;
    if (info->dlpi_name == NULL || strncmp(base_name(info->dlpi_name), "libc.so", 7) != 0) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + ph->p_vaddr, *end = at + ph->p_memsz;
        while (ph->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *name = at + sizeof *note, *id = name + ((note->n_namesz + 3U) & ~3U);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof to->id) {
                memcpy(to->id, id, note->n_descsz);
                to->bytes = note->n_descsz;
                return 1;
            }
            at = id + ((note->n_descsz + 3U) & ~3U);
        }
    }
    return 0;
}

static bool libc_has_debug_file(void) {
    struct libc libc = {.bytes = 0};
    char path[256];
    dl_iterate_phdr(note_libc, &libc);
    if (libc.bytes < 2) {
        return false;
    }
    int n = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", libc.id[0]);
    for (size_t i = 1; i < libc.bytes; i++) {
        n += snprintf(path + n, sizeof path - (size_t)n, "%02x", libc.id[i]);
    }
    snprintf(path + n, sizeof path - (size_t)n, ".debug");
    return access(path, R_OK) == 0;
}

static void check_names(struct checks *c) {
    const char *servers = getenv("DEBUGINFOD_URLS");
    bool server = servers != NULL && servers[0] != '\0';
    if (libc_has_debug_file()) {
        checks_add(c, "names", CHECK_OK, NULL, "debug information of the C library is installed");
    } else if (server) {
        checks_add(c, "names", CHECK_OK, NULL, "debug information comes from %s", servers);
    } else {
        checks_add(
            c, "names", CHECK_WARN,
            access("/etc/debian_version", F_OK) == 0 ? "sudo apt-get install libc6-dbg" : NULL,
            "no debug information of the C library: its inner functions have no names (or set DEBUGINFOD_URLS)");
    }
}

void system_checks_run(struct checks *c, const char *spool) {
    check_preload(c);
    check_spool(c, spool);
    check_proc(c);
    check_dump(c);
    attach_checks_run(c);
    check_seccomp(c);
    check_names(c);
}
