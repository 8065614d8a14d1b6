/* SPDX-License-Identifier: MIT
 *
 * What the file of a program that is to be executed says. Async-signal-safe; nothing is left open, nothing is
 * allocated.
 */
#include "preload/attach/exec_target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "image/elf_file.h"
#include "image/libc_version.h"
#include "os/os.h"
#include "preload/attach/posix_locks.h"

#define INTERPRETERS_MAX 4 /* of scripts, as the kernel has it */
#define HEAD_BYTES 256     /* that are read of a file first, as the kernel does */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define LOADER "ld-linux-x86-64.so.2"
#else
#define MACHINE EM_AARCH64
#define LOADER "ld-linux-aarch64.so.1"
#endif

static int open_program(int dir, const char *path);

bool hd_exec_needs_asan_first(const char *list) {
    return strstr(list, "libasan.so") != NULL || strstr(list, "libclang_rt.asan") != NULL;
}

/* What the program's first library is, if that must be the first of all; else empty. */
static void find_first(const struct hd_elf_file *f, char first[HD_EXEC_NAME_BYTES]) {
    uint64_t strings = 0, name = 0;
    ElfW(Phdr) p;
    ElfW(Dyn) d;
    for (unsigned i = 0; hd_elf_file_segment(f, i, &p); i++) {
        for (uint64_t at = p.p_offset;
             p.p_type == PT_DYNAMIC && hd_os.pread(f->fd, &d, sizeof d, at) == (long)sizeof d &&
             d.d_tag != DT_NULL;
             at += sizeof d) {
            strings = d.d_tag == DT_STRTAB ? d.d_un.d_ptr : strings;
            name = d.d_tag == DT_NEEDED && name == 0 ? d.d_un.d_val : name;
        }
    }
    memset(first, 0, HD_EXEC_NAME_BYTES);
    for (unsigned i = 0; hd_elf_file_segment(f, i, &p); i++) {
        if (p.p_type == PT_LOAD && strings - p.p_vaddr < p.p_filesz) {
            (void)hd_os.pread(f->fd, first, HD_EXEC_NAME_BYTES - 1, strings - p.p_vaddr + p.p_offset + name);
        }
    }
    first[hd_exec_needs_asan_first(first) ? HD_EXEC_NAME_BYTES - 1 : 0] = '\0';
}

/* The loader of a C library that can hold us. */
static bool takes_us(const char *loader) {
    int fd = open_program(AT_FDCWD, loader);
    bool takes = fd >= 0 && hd_libc_version_suffices(fd);
    hd_os_close(fd);
    return takes;
}

/* What the loader is started to run, and not only to list or to check; NULL: nothing. Of its other options,
 * up to glibc 2.42, one has no value. */
static const char *run_by(const char *loader, char *const *argv) {
    const char *slash = strrchr(loader, '/');
    if (strcmp(slash != NULL ? slash + 1 : loader, LOADER) != 0 || argv == NULL || argv[0] == NULL) {
        return NULL;
    }
    for (argv++; *argv != NULL && strncmp(*argv, "--", 2) == 0; argv++) {
        if (strncmp(*argv, "--list", 6) == 0 || strncmp(*argv, "--ver", 5) == 0 ||
            strcmp(*argv, "--help") == 0) {
            return NULL;
        }
        argv += strcmp(*argv, "--inhibit-cache") != 0 && argv[1] != NULL;
    }
    return *argv;
}

/* Of the program, or the program itself, which has none then: `*program` is what it runs. */
static bool has_our_loader(const struct hd_elf_file *f, const char **program, char *const *argv,
                           char first[HD_EXEC_NAME_BYTES]) {
    char path[HEAD_BYTES];
    if (f->head.e_ident[EI_CLASS] != ELFCLASS64 || f->head.e_machine != MACHINE ||
        !hd_elf_file_loader(f, path, sizeof path)) {
        return false;
    }
    if (path[0] != '\0') {
        size_t n = strlen(path) + 1;
        find_first(f, first);
        return n > sizeof LOADER && strcmp(path + n - sizeof LOADER, LOADER) == 0 && takes_us(path);
    }
    *program = run_by(*program, argv);
    return *program != NULL && hd_libc_version_suffices(f->fd);
}

/* With privileges of its file's the loader takes no library from us, and our variables would stay in the
 * environment. */
static bool gains_privileges(const struct stat *st, int dir, const char *path) {
    char caps[64];
    return (st->st_mode & (S_ISUID | S_ISGID)) != 0 ||
           ((dir == AT_FDCWD || path[0] == '/') &&
            hd_os.get_xattr(path, "security.capability", caps, sizeof caps) > 0);
}

/* For reading, when that can neither block nor cost the program a lock. */
static int open_program(int dir, const char *path) {
    struct stat st;
    bool good = hd_os.stat_at(dir, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
                !gains_privileges(&st, dir, path) && !hd_own_locks_may_have(st.st_ino);
    return good ? hd_os.open_at(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0) : -EACCES;
}

bool hd_exec_target_loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]) {
    char interpreter[HEAD_BYTES];
    for (unsigned i = 0; i < INTERPRETERS_MAX; i++) {
        struct hd_elf_file file;
        char head[HEAD_BYTES];
        int fd = open_program(dir, path);
        long n = fd < 0 ? fd : hd_os.pread(fd, head, sizeof head - 1, 0);
        head[n > 0 ? n : 0] = '\0';
        bool elf = n > 0 && hd_elf_file_read(&file, fd);
        bool good = n > 2;
        const char *next = path;
        bool loads = elf && has_our_loader(&file, &next, argv, first);
        hd_os_close(fd);
        if (!good || (elf && (!loads || next == path))) {
            return loads;
        }
        if (elf) {
            path = next;
        } else if (strncmp(head, "#!", 2) != 0) {
            path = "/bin/sh"; /* which libc gives what the kernel does not know */
        } else if (hd_elf_script_interpreter(head, interpreter, sizeof interpreter)) {
            path = interpreter;
        } else {
            return false;
        }
        dir = AT_FDCWD;
        argv = NULL; /* the words are not those of what comes now */
    }
    return false;
}
