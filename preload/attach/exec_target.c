/* SPDX-License-Identifier: MIT */
#include "preload/attach/exec_target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "image/elf/elf_file.h"
#include "image/linux/libc_version.h"
#include "os/os.h"

/* A script's interpreter may be a script again. The kernel follows at most this number of interpreters, one
 * after the other. */
#define INTERPRETERS_MAX 4
#define HEAD_BYTES 256 /* the number of first bytes of a file by which the kernel decides its format */
/* The size of a line of /proc/locks, such as "1: POSIX  ADVISORY  READ 1234 08:01:5678 0 EOF". */
#define LOCK_LINE_BYTES 128

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

/* Stores the name of the program's first library in `first` if this library must precede the preload.
 * Otherwise stores an empty name. */
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

/* True: `loader` belongs to a C library in which the preload can run. */
static bool takes_us(const char *loader) {
    int fd = open_program(AT_FDCWD, loader);
    bool takes = fd >= 0 && hd_libc_version_suffices(fd);
    hd_os_close(fd);
    return takes;
}

/* The executed program may be the dynamic loader, with another program among its arguments. Returns the
 * path of this other program. NULL: `loader` is another program, or a loader that only lists or checks files.
 * In glibc up to 2.42 each option that is not handled here has a value, except --inhibit-cache. */
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

/* True: the program's loader loads the preload. If the file is a loader itself, sets `*program` to the
 * program that this loader runs. `*program` becomes NULL if the loader runs none. */
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

/* True: exec raises privileges because of the file's mode or capabilities. In this case the loader ignores
 * LD_PRELOAD, and Hangdog's variables would stay in the program's environment. */
static bool gains_privileges(const struct stat *st, int dir, const char *path) {
    char caps[64];
    return (st->st_mode & (S_ISUID | S_ISGID)) != 0 ||
           ((dir == AT_FDCWD || path[0] == '/') &&
            hd_os.get_xattr(path, "security.capability", caps, sizeof caps) > 0);
}

/* True: this process may have a POSIX lock on the file, or /proc/locks cannot be read. In this case the
 * file must not be opened, because the kernel drops the lock when the process closes any descriptor of the
 * file. */
static bool may_have_posix_lock(uint64_t inode) {
    char piece[512], line[LOCK_LINE_BYTES], wanted[32];
    struct hd_text t;
    size_t length = 0;
    long n;
    bool found = false;
    /* Searches for the inode number only, of any device and any process. So the result may be a wrong "true".
     * That does no harm, since the caller only leaves the file unopened. */
    hd_text_init(&t, wanted, sizeof wanted);
    hd_text_str(&t, ":");
    hd_text_u64(&t, inode);
    hd_text_str(&t, " ");
    int fd = hd_os_open(AT_FDCWD, "/proc/locks");
    if (fd < 0) {
        return true;
    }
    while (!found && (n = hd_os.read(fd, piece, sizeof piece)) > 0) {
        for (long i = 0; i < n && !found; i++) {
            line[length] = piece[i] != '\n' ? piece[i] : '\0';
            if (piece[i] == '\n') {
                found = strstr(line, " POSIX ") != NULL && strstr(line, wanted) != NULL;
                length = 0;
            } else if (length + 2 < sizeof line) {
                length++;
            }
        }
    }
    hd_os_close(fd);
    return found;
}

/* Opens a program's file for reading. Fails if exec would raise privileges, if the open could block, or if
 * the close could drop a lock of the program. */
static int open_program(int dir, const char *path) {
    struct stat st;
    bool good = hd_os.stat_at(dir, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
                !gains_privileges(&st, dir, path) && !may_have_posix_lock(st.st_ino);
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
            path = "/bin/sh"; /* libc's exec functions run a file of unknown format by the shell */
        } else if (hd_elf_script_interpreter(head, interpreter, sizeof interpreter)) {
            path = interpreter;
        } else {
            return false;
        }
        dir = AT_FDCWD;
        /* `argv` has the first file's arguments; the next file is an interpreter, or the program that a
         * loader runs */
        argv = NULL;
    }
    return false;
}
