/* SPDX-License-Identifier: MIT
 *
 * Files: flags, struct stat, locks and descriptors, with Darwin's numbers.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "errors.h"
#include "import.h"
#include "thread.h"

/* ---- numbers ------------------------------------------------------------------------------ */

static const struct {
    int darwin, host;
} open_flags[] = {
    {0x4, O_NONBLOCK},   {0x8, O_APPEND}, {0x100, O_NOFOLLOW},     {0x200, O_CREAT},
    {0x400, O_TRUNC},    {0x800, O_EXCL}, {0x100000, O_DIRECTORY}, {0x1000000, O_CLOEXEC},
    {0x20000, O_NOCTTY}, {0x80, O_SYNC},  {0x400000, O_DSYNC},     {0x20000000, O_NOFOLLOW},
};

static int open_flags_host(int darwin) {
    int host = darwin & 3;
    for (size_t i = 0; i < sizeof open_flags / sizeof open_flags[0]; i++) {
        host |= darwin & open_flags[i].darwin ? open_flags[i].host : 0;
    }
    return host;
}

int files_folder(int darwin) {
    return darwin == -2 ? AT_FDCWD : darwin;
}

static int at_flags_host(int darwin) {
    return (darwin & 0x20 ? AT_SYMLINK_NOFOLLOW : 0) | (darwin & 0x80 ? AT_REMOVEDIR : 0);
}

/* ---- open and descriptors ----------------------------------------------------------------- */

int fake_openat(int folder, const char *path, int flags, int mode);
int fake_openat(int folder, const char *path, int flags, int mode) {
    int fd = errors_of(openat(files_folder(folder), path, open_flags_host(flags), (mode_t)mode & 07777));
    if (fd >= 0 && flags & 0x30 &&
        flock(fd, (flags & 0x20 ? LOCK_EX : LOCK_SH) | (flags & 4 ? LOCK_NB : 0))) {
        errors_set(errno);
        close(fd);
        return -1;
    }
    return fd;
}

int fake_open(const char *path, int flags, int mode);
int fake_open(const char *path, int flags, int mode) {
    return fake_openat(-2, path, flags, mode);
}

struct lock {
    int64_t start, length;
    int32_t pid;
    int16_t type, whence;
};

static int lock_file(int fd, int command, struct lock *l) {
    static const int types[4] = {0, F_RDLCK, F_UNLCK, F_WRLCK};
    struct flock host = {
        .l_type = (short)types[l->type & 3], .l_whence = l->whence, .l_start = l->start, .l_len = l->length};
    int result = errors_of(fcntl(fd, command, &host));
    if (result == 0 && (command == F_GETLK || command == F_OFD_GETLK)) {
        l->type = host.l_type == F_UNLCK ? 2 : host.l_type == F_WRLCK ? 3 : 1;
        l->pid = host.l_pid;
    }
    return result;
}

static int path_of(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, 1023);
    if (n < 0) {
        return errors_fail(errno);
    }
    out[n] = 0;
    return 0;
}

int fake_fcntl(int fd, int command, uint64_t argument);
int fake_fcntl(int fd, int command, uint64_t argument) {
    switch (command) {
    case 0:
        return errors_of(fcntl(fd, F_DUPFD, (int)argument));
    case 1:
        return errors_of(fcntl(fd, F_GETFD));
    case 2:
        return errors_of(fcntl(fd, F_SETFD, (int)argument));
    case 3: {
        int host = fcntl(fd, F_GETFL);
        return host < 0 ? errors_fail(errno)
                        : (host & 3) | (host & O_NONBLOCK ? 4 : 0) | (host & O_APPEND ? 8 : 0);
    }
    case 4:
        return errors_of(fcntl(fd, F_SETFL, open_flags_host((int)argument)));
    case 7:
        return lock_file(fd, F_GETLK, (struct lock *)argument);
    case 8:
        return lock_file(fd, F_SETLK, (struct lock *)argument);
    case 9:
        return lock_file(fd, F_SETLKW, (struct lock *)argument);
    case 90:
        return lock_file(fd, F_OFD_SETLK, (struct lock *)argument);
    case 91:
        return lock_file(fd, F_OFD_SETLKW, (struct lock *)argument);
    case 92:
        return lock_file(fd, F_OFD_GETLK, (struct lock *)argument);
    case 48:
    case 85:
        return 0; /* F_NOCACHE, F_BARRIERFSYNC */
    case 50:
        return path_of(fd, (char *)argument); /* F_GETPATH */
    case 51:
        return errors_of(fsync(fd)); /* F_FULLFSYNC */
    case 67:
        return errors_of(fcntl(fd, F_DUPFD_CLOEXEC, (int)argument));
    default:
        return errors_fail(EINVAL);
    }
}

int fake_ioctl(int fd, uint64_t request, uint64_t argument);
int fake_ioctl(int fd, uint64_t request, uint64_t argument) {
    if (request == 0x4004667f) { /* FIONREAD */
        return errors_of(ioctl(fd, FIONREAD, argument));
    }
    return errors_fail(ENOTTY);
}

#if defined(__aarch64__)
extern void variadic_open(void), variadic_openat(void), variadic_fcntl(void), variadic_ioctl(void);
#endif

static int fake_close(int fd) {
    return errors_of(close(fd));
}

/* A call that waits must not end with EINTR because of a suspension; it may because of a program's signal. */
static long fake_read(int fd, void *to, size_t n) {
    thread_block();
    long result = read(fd, to, n);
    thread_unblock();
    return errors_of_long(result);
}
static long fake_write(int fd, const void *from, size_t n) {
    return errors_of_long(write(fd, from, n));
}
static long fake_pread(int fd, void *to, size_t n, int64_t at) {
    return errors_of_long(pread(fd, to, n, at));
}
static long fake_pwrite(int fd, const void *from, size_t n, int64_t at) {
    return errors_of_long(pwrite(fd, from, n, at));
}
static long fake_writev(int fd, const struct iovec *v, int n) {
    return errors_of_long(writev(fd, v, n));
}
static int64_t fake_lseek(int fd, int64_t at, int whence) {
    return errors_of_long(lseek(fd, at, whence));
}
static int fake_fsync(int fd) {
    return errors_of(fsync(fd));
}
static int fake_ftruncate(int fd, int64_t n) {
    return errors_of(ftruncate(fd, n));
}
static int fake_flock(int fd, int operation) {
    return errors_of(flock(fd, operation));
}
static int fake_dup(int fd) {
    return errors_of(dup(fd));
}
static int fake_dup2(int fd, int to) {
    return errors_of(dup2(fd, to));
}
static int fake_pipe(int ends[2]) {
    return errors_of(pipe(ends));
}

/* ---- names -------------------------------------------------------------------------------- */

static int fake_renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return errors_of(renameat(files_folder(from_folder), from, files_folder(to_folder), to));
}
static int fake_rename(const char *from, const char *to) {
    return errors_of(rename(from, to));
}
static int fake_unlinkat(int folder, const char *path, int flags) {
    return errors_of(unlinkat(files_folder(folder), path, at_flags_host(flags)));
}
static int fake_unlink(const char *path) {
    return errors_of(unlink(path));
}
static int fake_mkdirat(int folder, const char *path, int mode) {
    return errors_of(mkdirat(files_folder(folder), path, (mode_t)mode & 07777));
}
static int fake_mkdir(const char *path, int mode) {
    return errors_of(mkdir(path, (mode_t)mode & 07777));
}
static int fake_fchmodat(int folder, const char *path, int mode, int flags) {
    return errors_of(fchmodat(files_folder(folder), path, (mode_t)mode & 07777, at_flags_host(flags)));
}
static int fake_fchmod(int fd, int mode) {
    return errors_of(fchmod(fd, (mode_t)mode & 07777));
}
static long fake_readlinkat(int folder, const char *path, char *to, size_t n) {
    return errors_of_long(readlinkat(files_folder(folder), path, to, n));
}
static int fake_access(const char *path, int mode) {
    return errors_of(access(path, mode));
}
static int fake_faccessat(int folder, const char *path, int mode, int flags) {
    return errors_of(faccessat(files_folder(folder), path, mode, flags & 0x10 ? AT_EACCESS : 0));
}

/* Darwin's calls have a position and options. */
static long fake_getxattr(const char *path, const char *name, void *to, size_t n, uint32_t position,
                          int options) {
    (void)position;
    return errors_of_long((options & 1 ? lgetxattr : getxattr)(path, name, to, n));
}
static int fake_setxattr(const char *path, const char *name, const void *from, size_t n, uint32_t position,
                         int options) {
    (void)position;
    (void)options;
    return errors_of(setxattr(path, name, from, n, 0));
}

/* ---- struct stat -------------------------------------------------------------------------- */

struct stat_of_darwin {
    int32_t device;
    uint16_t mode, links;
    uint64_t inode;
    uint32_t uid, gid;
    int32_t special;
    uint32_t padding;
    struct timespec accessed, modified, changed, born;
    int64_t size, blocks;
    int32_t block_bytes;
    uint32_t flags, generation;
    int32_t spare;
    int64_t spares[2];
};
_Static_assert(sizeof(struct stat_of_darwin) == 144, "struct stat");

static int stat_store(int result, const struct stat *st, struct stat_of_darwin *out) {
    if (result != 0) {
        return errors_fail(errno);
    }
    *out = (struct stat_of_darwin){
        .device = (int32_t)st->st_dev,
        .mode = (uint16_t)st->st_mode,
        .links = (uint16_t)st->st_nlink,
        .inode = st->st_ino,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .accessed = st->st_atim,
        .modified = st->st_mtim,
        .changed = st->st_ctim,
        .born = st->st_ctim,
        .size = st->st_size,
        .blocks = st->st_blocks,
        .block_bytes = (int32_t)st->st_blksize,
    };
    return 0;
}

static int fake_fstatat(int folder, const char *path, struct stat_of_darwin *out, int flags) {
    struct stat st;
    return stat_store(fstatat(files_folder(folder), path, &st, at_flags_host(flags)), &st, out);
}
static int fake_stat(const char *path, struct stat_of_darwin *out) {
    struct stat st;
    return stat_store(stat(path, &st), &st, out);
}
static int fake_lstat(const char *path, struct stat_of_darwin *out) {
    struct stat st;
    return stat_store(lstat(path, &st), &st, out);
}
static int fake_fstat(int fd, struct stat_of_darwin *out) {
    struct stat st;
    return stat_store(fstat(fd, &st), &st, out);
}

static int fake_getentropy(void *to, size_t n) {
    return errors_of(getentropy(to, n));
}

const struct import imports_of_file[] = {
    KERNEL("open", VARIADIC(open), 5),
    KERNEL("openat", VARIADIC(openat), 463),
    KERNEL("open$NOCANCEL", VARIADIC(open), 398),
    KERNEL("openat$NOCANCEL", VARIADIC(openat), 464),
    KERNEL("fcntl", VARIADIC(fcntl), 92),
    KERNEL("fcntl$NOCANCEL", VARIADIC(fcntl), 406),
    KERNEL("ioctl", VARIADIC(ioctl), 54),
    KERNEL("close", fake_close, 6),
    KERNEL("close$NOCANCEL", fake_close, 399),
    KERNEL("read", fake_read, 3),
    KERNEL("read$NOCANCEL", fake_read, 396),
    KERNEL("write", fake_write, 4),
    KERNEL("write$NOCANCEL", fake_write, 397),
    KERNEL("pread", fake_pread, 153),
    KERNEL("pread$NOCANCEL", fake_pread, 414),
    KERNEL("pwrite", fake_pwrite, 154),
    KERNEL("pwrite$NOCANCEL", fake_pwrite, 415),
    KERNEL("writev", fake_writev, 121),
    KERNEL("lseek", fake_lseek, 199),
    KERNEL("fsync", fake_fsync, 95),
    KERNEL("fsync$NOCANCEL", fake_fsync, 408),
    KERNEL("ftruncate", fake_ftruncate, 201),
    KERNEL("flock", fake_flock, 131),
    KERNEL("dup", fake_dup, 41),
    KERNEL("dup2", fake_dup2, 90),
    KERNEL("pipe", fake_pipe, 42),
    KERNEL("renameat", fake_renameat, 465),
    KERNEL("rename", fake_rename, 128),
    KERNEL("unlinkat", fake_unlinkat, 472),
    KERNEL("unlink", fake_unlink, 10),
    KERNEL("mkdirat", fake_mkdirat, 475),
    KERNEL("mkdir", fake_mkdir, 136),
    KERNEL("fchmodat", fake_fchmodat, 467),
    KERNEL("fchmod", fake_fchmod, 124),
    KERNEL("readlinkat", fake_readlinkat, 473),
    KERNEL("access", fake_access, 33),
    KERNEL("faccessat", fake_faccessat, 466),
    KERNEL("getxattr", fake_getxattr, 234),
    KERNEL("setxattr", fake_setxattr, 236),
    KERNEL("fstatat", fake_fstatat, 470),
    KERNEL("fstatat$INODE64", fake_fstatat, 470),
    KERNEL("stat", fake_stat, 338),
    KERNEL("stat$INODE64", fake_stat, 338),
    KERNEL("lstat", fake_lstat, 340),
    KERNEL("lstat$INODE64", fake_lstat, 340),
    KERNEL("fstat", fake_fstat, 339),
    KERNEL("fstat$INODE64", fake_fstat, 339),
    KERNEL("getentropy", fake_getentropy, 500),
    IMPORT_END,
};
