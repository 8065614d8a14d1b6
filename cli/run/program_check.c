/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: what the kernel and the loader will make of a program's file. Read from the file's own
 * words; nothing is run.
 */
#include "cli/run/program_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/base/proc.h"
#include "cli/base/program_find.h"
#include "image/elf/elf_file.h"
#include "image/linux/libc_version.h"

#define SCRIPTS_MAX 5  /* interpreters of interpreters: more the kernel does not follow */
#define HEAD_BYTES 256 /* of a file: what the kernel looks at */
#define SECTIONS_MAX 256
#define SHELL "/bin/sh" /* which runs what the kernel does not know */

/* ---- the file's words ------------------------------------------------------------------------ */

/* This command's own loader is that of the C library which the preload library needs. */
static void own_loader(char loader[PATH_MAX], struct hd_elf_file *f) {
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    loader[0] = '\0';
    memset(f, 0, sizeof *f);
    if (fd >= 0 && hd_elf_file_read(f, fd)) {
        (void)hd_elf_file_loader(f, loader, PATH_MAX);
    }
    close(fd);
}

static bool is_same_file(int fd, const char *path) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* `loader`: empty where the program is one itself. One that is not there is the program's own error. */
static bool is_new_enough(int fd, const char *loader) {
    int other = loader[0] != '\0' ? open(loader, O_RDONLY | O_CLOEXEC) : -1;
    bool unknown = loader[0] != '\0' && other < 0;
    bool new = unknown || hd_libc_version_suffices(other >= 0 ? other : fd);
    if (other >= 0) {
        close(other);
    }
    return new;
}

/* Of a section that the Go linker makes, also when the program is stripped. */
static bool is_of_go(const struct hd_elf_file *f) {
    static const char wanted[] = ".go.buildinfo";
    char name[sizeof wanted];
    ElfW(Shdr) names, one;
    if (!hd_elf_file_section(f, f->head.e_shstrndx, &names)) {
        return false;
    }
    for (unsigned i = 0; i < SECTIONS_MAX && hd_elf_file_section(f, i, &one); i++) {
        if (pread(f->fd, name, sizeof name, (off_t)(names.sh_offset + one.sh_name)) == sizeof name &&
            memcmp(name, wanted, sizeof name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *machine_name(int machine, char text[32]) {
    static const struct {
        int machine;
        const char *name;
    } known[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "arm64"}, {EM_386, "x86"},  {EM_ARM, "arm"},
                 {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},   {EM_S390, "s390"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].machine == machine) {
            return known[i].name;
        }
    }
    snprintf(text, 32, "another CPU (ELF machine %d)", machine);
    return text;
}

/* `it`: the program, or its interpreter. */
static bool elf_loads(const struct hd_elf_file *f, const char *path, const char *it, struct problem *why) {
    char own[PATH_MAX], loader[PATH_MAX], machine[32];
    struct hd_elf_file this;
    own_loader(own, &this);
    const ElfW(Ehdr) *ours = &this.head, *e = &f->head;
    if (own[0] == '\0') {
        return true; /* nothing to compare with */
    }
    if (e->e_ident[EI_CLASS] != ours->e_ident[EI_CLASS]) {
        error_set(why, "%s is a %s program", it, e->e_ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "64-bit");
        return false;
    }
    if (e->e_machine != ours->e_machine || e->e_ident[EI_DATA] != ours->e_ident[EI_DATA]) {
        error_set(why, "%s is for %s", it, machine_name(e->e_machine, machine));
        return false;
    }
    if (!hd_elf_file_loader(f, loader, sizeof loader)) {
        return true; /* broken: it will not run */
    }
    if (is_of_go(f)) {
        error_set(why, "%s is written in Go, which waits without libc", it);
        return false;
    }
    bool is_loader = strcmp(base_name(path), base_name(own)) == 0 || is_same_file(f->fd, own);
    if (loader[0] == '\0' && !is_loader) {
        error_set(why, "%s is statically linked, so no library can be preloaded", it);
        error_try(why, PROGRAM_ATTACH);
        return false;
    }
    if (loader[0] != '\0' && strcmp(base_name(loader), base_name(own)) != 0) {
        bool musl = strncmp(base_name(loader), "ld-musl", strlen("ld-musl")) == 0;
        error_set(why, "%s uses %s%.500s%s", it, musl ? "musl" : "another C library (", musl ? "" : loader,
                  musl ? "" : ")");
        error_try(why, PROGRAM_ATTACH);
        return false;
    }
    if (!is_new_enough(f->fd, loader)) {
        error_set(why, "%s has a C library that is too old (without " HD_GLIBC_NEEDED ")", it);
        return false;
    }
    return true;
}

/* ---- privileges ------------------------------------------------------------------------------ */

/* Capabilities of the file that the process gets. To whom is root by name they are nothing new. */
static bool gives_capabilities(const char *path) {
    struct vfs_ns_cap_data caps;
    ssize_t n = getxattr(path, "security.capability", &caps, sizeof caps);
    if (getuid() == 0 || n < (ssize_t)XATTR_CAPS_SZ_1) {
        return false;
    }
    return (caps.magic_etc & VFS_CAP_FLAGS_EFFECTIVE) != 0 || caps.data[0].permitted != 0 ||
           (n >= (ssize_t)XATTR_CAPS_SZ_2 && caps.data[1].permitted != 0);
}

/* True: exec raises privileges (AT_SECURE), so the loader ignores the environment. `what`: the reason. */
static bool gains_privileges(const char *path, const char **what) {
    struct stat st;
    struct statvfs fs;
    bool bits =
        proc_number(0, "NoNewPrivs:", 10) != 1; /* not by prctl, which a seccomp filter may punish by death */
    if (stat(path, &st) != 0 || statvfs(path, &fs) != 0) {
        return false;
    }
    bits &= (fs.f_flag & ST_NOSUID) == 0;
    uid_t uid = bits && (st.st_mode & S_ISUID) != 0 ? st.st_uid : geteuid();
    gid_t gid = bits && (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ? st.st_gid : getegid();
    *what = uid != getuid()   ? "is set-user-id"
            : gid != getgid() ? "is set-group-id"
                              : "has file capabilities";
    return uid != getuid() || gid != getgid() || ((fs.f_flag & ST_NOSUID) == 0 && gives_capabilities(path));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Its head too, as a text; a negative number: it cannot be read. */
static int open_program(const char *path, char head[HEAD_BYTES + 1], struct hd_elf_file *f, bool *elf) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? pread(fd, head, HEAD_BYTES, 0) : -1;
    head[n > 0 ? n : 0] = '\0';
    *elf = n > 0 && hd_elf_file_read(f, fd);
    if (fd >= 0 && n < 0) {
        close(fd);
    }
    return n < 0 ? -1 : fd;
}

bool program_executed(const char *program, char path[PATH_MAX]) {
    char head[HEAD_BYTES + 1], next[PATH_MAX];
    struct hd_elf_file file;
    bool elf = false, there = program_find(program, path, PATH_MAX);
    for (int i = 0; there && !elf && i < SCRIPTS_MAX && program_is_executable(path); i++) {
        int fd = open_program(path, head, &file, &elf);
        there = fd >= 0;
        close(fd);
        if (there && !elf) {
            snprintf(path, PATH_MAX, "%s", hd_elf_script_interpreter(head, next, sizeof next) ? next : SHELL);
        }
    }
    return there && elf;
}

bool program_can_be_watched(const char *program, struct problem *why) {
    char path[PATH_MAX], head[HEAD_BYTES + 1], next[PATH_MAX];
    struct hd_elf_file file;
    const char *what;
    bool elf;
    if (!program_find(program, path, sizeof path)) {
        return true;
    }
    for (int i = 0; i < SCRIPTS_MAX && program_is_executable(path); i++) {
        int fd = open_program(path, head, &file, &elf);
        bool unreadable = fd < 0;
        char it[PATH_MAX + sizeof "its interpreter "];
        snprintf(it, sizeof it, "%s%s", i == 0 ? "it" : "its interpreter ", i == 0 ? "" : path);
        bool loads = !elf || elf_loads(&file, path, it, why);
        if (fd >= 0) {
            close(fd);
        }
        if (loads && (elf || unreadable) && gains_privileges(path, &what)) {
            error_set(why, "%s %s: preloads are ignored", it, what);
            error_try(why, "sudo hangdog run");
            loads = false;
        }
        if (elf || unreadable || !loads) {
            return loads;
        }
        snprintf(path, sizeof path, "%s", hd_elf_script_interpreter(head, next, sizeof next) ? next : SHELL);
    }
    return true;
}

/* The loader's options, up to glibc 2.42. */
const char *program_named(char *const *words) {
    static const char *const with_value[] = {
        "--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
        "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
    char own[PATH_MAX];
    struct hd_elf_file this;
    size_t at = 1;
    own_loader(own, &this);
    if (own[0] == '\0' || strcmp(base_name(words[0]), base_name(own)) != 0) {
        return words[0];
    }
    while (words[at] != NULL && strncmp(words[at], "--", 2) == 0) {
        size_t values = 0;
        for (size_t i = 0; i < sizeof with_value / sizeof with_value[0]; i++) {
            values += strcmp(words[at], with_value[i]) == 0;
        }
        at += values > 0 && words[at + 1] != NULL ? 2 : 1;
    }
    return words[at] != NULL ? words[at] : words[0];
}

bool program_lacks(const char *program, struct problem *what) {
    char path[PATH_MAX], head[HEAD_BYTES + 1], next[PATH_MAX];
    bool elf = false;
    if (!program_find(program, path, sizeof path)) {
        return false;
    }
    for (int i = 0; i < SCRIPTS_MAX && !elf && program_is_executable(path); i++) {
        struct hd_elf_file file;
        int fd = open_program(path, head, &file, &elf);
        if (fd < 0) {
            return false;
        }
        bool asks = elf ? hd_elf_file_loader(&file, next, sizeof next) && next[0] != '\0'
                        : hd_elf_script_interpreter(head, next, sizeof next);
        close(fd);
        if (asks && access(next, F_OK) != 0 && errno == ENOENT) {
            bool windows = next[strlen(next) - 1] == '\r';
            next[strcspn(next, "\r")] = '\0';
            error_set(what, "%s %.500s is missing%s%.500s%s", elf ? "its loader" : "its interpreter", next,
                      windows ? "; " : "", windows ? path : "", windows ? " has Windows line ends" : "");
            return true;
        }
        if (!asks) {
            return false;
        }
        snprintf(path, sizeof path, "%s", next);
    }
    return false;
}

bool program_begins_as_one(const char *path) {
    char start[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, start, sizeof start) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return n == sizeof start && (memcmp(start, "\177ELF", 4) == 0 || memcmp(start, "#!", 2) == 0);
}
