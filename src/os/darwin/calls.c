/* SPDX-License-Identifier: MIT
 *
 * The table of system calls on Apple's systems, by public functions of libSystem: the kernel's numbers are no
 * interface there. These functions set errno, so each member restores it. Some of them, such as `read`, are
 * cancellation points. Our threads are never cancelled, and the program's threads call none of these members.
 * Any thread; no allocation.
 */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/attr.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/stdio.h>
#include <time.h>
#include <unistd.h>

#include "os/darwin/mach.h"
#include "os/darwin/thread_ports.h"
#include "os/darwin/wait.h"
#include "os/descriptor_table.h"

/* Our descriptors have numbers from here on, so that the program's numbers stay as small as without us. */
#define FIRST_DESCRIPTOR 256

/* Returns `r`, or the negative errno value of a call that returned -1. Restores errno to `saved`. */
static long done(int saved, long r) {
    if (r < 0) {
        r = -(long)errno;
    }
    errno = saved;
    return r;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* Gives the descriptor a higher number. Where the process's limit forbids that, the number stays. */
static int move_up(int fd) {
    int saved = errno;
    int moved = fd >= 0 && fd < FIRST_DESCRIPTOR ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR) : -1;
    if (moved >= 0) {
        (void)close(fd);
        fd = moved;
    }
    errno = saved;
    return fd;
}

static int sys_open_at(int dir, const char *path, int flags, int mode) {
    return move_up((int)done(errno, openat(dir, path, flags, mode)));
}

static int sys_close(int fd) {
    return (int)done(errno, close(fd));
}

static long sys_read(int fd, void *buf, size_t n) {
    return done(errno, read(fd, buf, n));
}

static long sys_pread(int fd, void *buf, size_t n, uint64_t offset) {
    return done(errno, pread(fd, buf, n, (off_t)offset));
}

static long sys_write(int fd, const void *buf, size_t n) {
    return done(errno, write(fd, buf, n));
}

/* No socket of ours exists on these systems: the service manager's and a peer's are Linux's. */
static int sys_socket(int family, int type, int protocol) {
    (void)family, (void)type, (void)protocol;
    return -ENOSYS;
}

static int sys_connect(int fd, const void *address, uint32_t bytes) {
    (void)fd, (void)address, (void)bytes;
    return -ENOSYS;
}

static int sys_fsync(int fd) {
    return (int)done(errno, fsync(fd));
}

static int sys_rename_at(int dir, const char *from, const char *to) {
    return (int)done(errno, renameat(dir, from, dir, to));
}

static int sys_unlink_at(int dir, const char *path) {
    return (int)done(errno, unlinkat(dir, path, 0));
}

static int sys_mkdir_at(int dir, const char *path, int mode) {
    return (int)done(errno, mkdirat(dir, path, (mode_t)mode));
}

static int sys_chmod_at(int dir, const char *path, int mode) {
    mode_t bits = (mode_t)mode & ALLPERMS;
    return (int)done(errno, path[0] == '\0' ? fchmod(dir, bits) : fchmodat(dir, path, bits, 0));
}

static int sys_ftruncate(int fd, uint64_t size) {
    return (int)done(errno, ftruncate(fd, (off_t)size));
}

static int sys_flock(int fd, int operation) {
    return (int)done(errno, flock(fd, operation));
}

static long sys_readlink_at(int dir, const char *path, char *buf, size_t n) {
    return done(errno, readlinkat(dir, path, buf, n));
}

/* Only the probes of Linux's sockets read attributes. */
static long sys_get_xattr(const char *path, const char *name, void *value, size_t n) {
    (void)path, (void)name, (void)value, (void)n;
    return -ENOSYS;
}

/* An entry of getattrlistbulk with the attributes of sys_read_names. */
struct entry {
    uint32_t bytes;
    attribute_set_t returned;
    attrreference_t name;
} __attribute__((packed, aligned(4)));

/* Each entry becomes its name, which moves to a lower address of the same buffer. Returns the number of
 * bytes. Entries without a name are left out. */
static long pack_names(char *names, size_t n, int count) {
    size_t at = 0, used = 0;
    for (int i = 0; i < count && n - at >= sizeof(struct entry); i++) {
        struct entry e;
        memcpy(&e, names + at, sizeof e);
        if (e.bytes < sizeof e || e.bytes > n - at) {
            break;
        }
        int64_t offset = (int64_t)offsetof(struct entry, name) + e.name.attr_dataoffset;
        bool named = (e.returned.commonattr & ATTR_CMN_NAME) != 0 && offset >= (int64_t)sizeof e &&
                     offset + (int64_t)e.name.attr_length <= (int64_t)e.bytes && e.name.attr_length != 0;
        if (named) {
            size_t length = strnlen(names + at + offset, e.name.attr_length - 1);
            memmove(names + used, names + at + offset, length);
            used += length;
            names[used++] = '\0';
        }
        at += e.bytes;
    }
    return (long)used;
}

static long sys_read_names(int fd, char *names, size_t n) {
    for (;;) {
        struct attrlist wanted = {.bitmapcount = ATTR_BIT_MAP_COUNT,
                                  .commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME};
        long count = done(errno, getattrlistbulk(fd, &wanted, names, n, 0));
        long used = count > 0 ? pack_names(names, n, (int)count) : count;
        if (count <= 0 || used > 0) {
            return used;
        }
    }
}

static int sys_stat_at(int dir, const char *path, void *st, int flags) {
    return (int)done(errno, path[0] == '\0' ? fstat(dir, st) : fstatat(dir, path, st, flags));
}

static int sys_file_type_at(int dir, const char *path, uint32_t *type) {
    struct stat st = {0};
    int rc = sys_stat_at(dir, path, &st, 0);
    *type = st.st_mode & S_IFMT;
    return rc;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static void *sys_map(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset) {
    int saved = errno;
    void *p = mmap(addr, n, prot, flags, fd, (off_t)offset);
    if (p == MAP_FAILED) {
        p = (void *)(intptr_t)-errno;
    }
    errno = saved;
    return p;
}

static int sys_unmap(void *addr, size_t n) {
    return (int)done(errno, munmap(addr, n));
}

static int sys_advise(void *addr, size_t n, int advice) {
    return (int)done(errno, madvise(addr, n, advice));
}

static int sys_protect(void *addr, size_t n, int prot) {
    return (int)done(errno, mprotect(addr, n, prot));
}

#define PIECE ((size_t)16 << 10)

static long sys_read_memory(int pid, uint64_t addr, void *buf, size_t n) {
    size_t got = 0;
    if (pid != getpid()) {
        return -ENOSYS;
    }
    while (got < n) {
        size_t piece = n - got < PIECE ? n - got : PIECE;
        int rc = hd_mach.read(addr + got, (uint8_t *)buf + got, piece);
        if (rc != 0) {
            return got != 0 ? (long)got : rc;
        }
        got += piece;
    }
    return (long)got;
}

/* ---- signals and threads ---------------------------------------------------------------------- */

/* No thread gets a signal of ours: see src/capture/darwin. */
static int sys_signal_thread(int pid, int tid, int signal, uint64_t value) {
    (void)pid, (void)tid, (void)signal, (void)value;
    return -ENOSYS;
}

static int sys_signal_action(int signal, const void *new_action, void *old_action) {
    return (int)done(errno, sigaction(signal, new_action, old_action));
}

static int sys_alt_stack(const void *new_stack, void *old_stack) {
    return (int)done(errno, sigaltstack(new_stack, old_stack));
}

static int sys_signal_mask(int how, const uint64_t *set, uint64_t *old) {
    sigset_t bits = set != NULL ? (sigset_t)*set : 0, before = 0;
    int rc = pthread_sigmask(how, set != NULL ? &bits : NULL, &before);
    if (old != NULL) {
        *old = before;
    }
    return -rc;
}

static int sys_set_thread_name(const char *name) {
    return -pthread_setname_np(name);
}

static int sys_get_thread_name(char name[16]) {
    char whole[64] = "";
    int rc = pthread_getname_np(pthread_self(), whole, sizeof whole);
    memcpy(name, whole, 15);
    name[15] = '\0';
    return -rc;
}

static int sys_get_pid(void) {
    return getpid();
}

static uint64_t sys_get_tid(void) {
    uint64_t id = 0;
    (void)pthread_threadid_np(NULL, &id);
    return id;
}

static int sys_thread_cpu_clock(uint64_t tid, uint64_t *ns) {
    struct hd_mach_thread times = {0};
    hd_port port = hd_thread_port(hd_thread_id_of(tid));
    int rc = port != 0 ? hd_mach.thread_times(port, &times) : -EINVAL;
    *ns = times.user_ns + times.system_ns;
    return rc == -ESRCH ? -EINVAL : rc;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static long sys_get_random(void *buf, size_t n) {
    size_t some = n < 256 ? n : 256; /* the most of one call */
    long rc = done(errno, getentropy(buf, some));
    return rc == 0 ? (long)some : rc;
}

static int sys_wall_clock(uint64_t *ns) {
    *ns = clock_gettime_nsec_np(CLOCK_REALTIME);
    return *ns != 0 ? 0 : -EINVAL;
}

static int sys_boot_clock(uint64_t *ns) {
    *ns = clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW);
    return *ns != 0 ? 0 : -EINVAL;
}

struct hd_os_calls hd_os = {
    .open_at = sys_open_at,
    .close = sys_close,
    .read = sys_read,
    .pread = sys_pread,
    .write = sys_write,
    .socket = sys_socket,
    .connect = sys_connect,
    .fsync = sys_fsync,
    .rename_at = sys_rename_at,
    .unlink_at = sys_unlink_at,
    .mkdir_at = sys_mkdir_at,
    .chmod_at = sys_chmod_at,
    .ftruncate = sys_ftruncate,
    .flock = sys_flock,
    .readlink_at = sys_readlink_at,
    .get_xattr = sys_get_xattr,
    .read_names = sys_read_names,
    .stat_at = sys_stat_at,
    .file_type_at = sys_file_type_at,
    .map = sys_map,
    .unmap = sys_unmap,
    .advise = sys_advise,
    .protect = sys_protect,
    .futex_wait = hd_wait_until_woken,
    .futex_wake = hd_wait_wake,
    .signal_thread = sys_signal_thread,
    .signal_action = sys_signal_action,
    .alt_stack = sys_alt_stack,
    .signal_mask = sys_signal_mask,
    .private_table = hd_private_table,
    .close_all = hd_private_table_close_all,
    .set_thread_name = sys_set_thread_name,
    .get_thread_name = sys_get_thread_name,
    .get_pid = sys_get_pid,
    .get_tid = sys_get_tid,
    .get_random = sys_get_random,
    .wall_clock = sys_wall_clock,
    .boot_clock = sys_boot_clock,
    .thread_cpu_clock = sys_thread_cpu_clock,
    .read_memory = sys_read_memory,
};

int hd_os_open(int dir, const char *path) {
    return hd_os.open_at(dir, path, O_RDONLY | O_CLOEXEC, 0);
}

/* The system has no descriptor that only starts paths and is open to each sandbox. */
int hd_os_open_folder(int dir, const char *name, bool follow) {
    return hd_os.open_at(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);
}

int hd_os_open_memory(void) {
    return -ENOSYS; /* hd_mach.read needs no descriptor */
}

uint64_t hd_os_modified_ns(const struct stat *st) {
    return (uint64_t)st->st_mtimespec.tv_sec * HD_NS_PER_S + (uint64_t)st->st_mtimespec.tv_nsec;
}

bool hd_os_is_main_thread(void) {
    return pthread_main_np() != 0;
}

bool hd_os_has_more_rights(void) {
    return issetugid() != 0;
}

void hd_os_close(int fd) {
    if (fd >= 0) {
        hd_os.close(fd);
    }
}

uint64_t hd_os_wall_ns(void) {
    uint64_t ns = 0;
    hd_os.wall_clock(&ns);
    return ns;
}
