/* SPDX-License-Identifier: MIT
 *
 * The table of system calls on Linux. It uses the *at forms of open, rename and others, since newer
 * architectures lack the older forms. Any thread; async-signal-safe; no allocation; does not set errno.
 */
#include "os/os.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "os/descriptor_table.h"
#include "os/linux/proc_files.h"
#include "os/linux/syscall.h"

static int sys_open_at(int dir, const char *path, int flags, int mode) {
    return (int)hd_syscall4(SYS_openat, dir, path, flags, mode);
}

static int sys_close(int fd) {
    return (int)hd_syscall1(SYS_close, fd);
}

static long sys_read(int fd, void *buf, size_t n) {
    return hd_syscall3(SYS_read, fd, buf, n);
}

static long sys_pread(int fd, void *buf, size_t n, uint64_t offset) {
    return hd_syscall4(SYS_pread64, fd, buf, n, offset);
}

static long sys_write(int fd, const void *buf, size_t n) {
    return hd_syscall3(SYS_write, fd, buf, n);
}

static int sys_connect(int fd, const void *address, uint32_t bytes) {
    return (int)hd_syscall3(SYS_connect, fd, address, bytes);
}

static int sys_socket(int family, int type, int protocol) {
    return (int)hd_syscall3(SYS_socket, family, type, protocol);
}

static int sys_fsync(int fd) {
    return (int)hd_syscall1(SYS_fsync, fd);
}

static int sys_rename_at(int dir, const char *from, const char *to) {
    return (int)hd_syscall6(SYS_renameat2, dir, (long)from, dir, (long)to, 0, 0);
}

static int sys_unlink_at(int dir, const char *path) {
    return (int)hd_syscall3(SYS_unlinkat, dir, path, 0);
}

static int sys_mkdir_at(int dir, const char *path, int mode) {
    return (int)hd_syscall3(SYS_mkdirat, dir, path, mode);
}

static int sys_chmod_at(int dir, const char *path, int mode) {
    return path[0] == '\0' ? (int)hd_syscall2(SYS_fchmod, dir, mode)
                           : (int)hd_syscall3(SYS_fchmodat, dir, path, mode);
}

static int sys_ftruncate(int fd, uint64_t size) {
    return (int)hd_syscall2(SYS_ftruncate, fd, size);
}

static int sys_flock(int fd, int operation) {
    return (int)hd_syscall2(SYS_flock, fd, operation);
}

static long sys_readlink_at(int dir, const char *path, char *buf, size_t n) {
    return hd_syscall4(SYS_readlinkat, dir, path, buf, n);
}

static long sys_get_xattr(const char *path, const char *name, void *value, size_t n) {
    return hd_syscall4(SYS_getxattr, path, name, value, n);
}

/* Each entry of the kernel becomes its name. The name moves to a lower address of the same buffer. */
static long sys_read_names(int fd, char *names, size_t n) {
    long bytes = hd_syscall3(SYS_getdents64, fd, names, n), used = 0;
    for (long at = 0; at < bytes;) {
        const struct dirent64 *e = (const struct dirent64 *)(const void *)(names + at);
        const char *name = e->d_name;
        at += e->d_reclen;
        do {
            names[used++] = *name;
        } while (*name++ != '\0');
    }
    return bytes <= 0 ? bytes : used;
}

static int sys_stat_at(int dir, const char *path, void *st, int flags) {
    return (int)hd_syscall4(SYS_newfstatat, dir, path, st, flags | AT_EMPTY_PATH);
}

static int sys_file_type_at(int dir, const char *path, uint32_t *type) {
    struct statx st = {0};
    int rc = (int)hd_syscall6(SYS_statx, dir, (long)path, AT_STATX_DONT_SYNC, STATX_TYPE, (long)&st, 0);
    *type = st.stx_mode & S_IFMT;
    return rc;
}

static void *sys_map(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset) {
    return (void *)hd_syscall6(SYS_mmap, (long)addr, (long)n, prot, flags, fd, (long)offset);
}

static int sys_unmap(void *addr, size_t n) {
    return (int)hd_syscall2(SYS_munmap, addr, n);
}

static int sys_advise(void *addr, size_t n, int advice) {
    return (int)hd_syscall3(SYS_madvise, addr, n, advice);
}

static int sys_protect(void *addr, size_t n, int prot) {
    return (int)hd_syscall3(SYS_mprotect, addr, n, prot);
}

static int sys_futex_wait(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared) {
    struct timespec until = {.tv_sec = (time_t)(until_ns / HD_NS_PER_S),
                             .tv_nsec = (long)(until_ns % HD_NS_PER_S)};
    int op = FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG);
    long r = hd_syscall6(SYS_futex, (long)word, op, (long)expected, until_ns == UINT64_MAX ? 0 : (long)&until,
                         0, (long)FUTEX_BITSET_MATCH_ANY);
    return (int)r;
}

static int sys_futex_wake(uint32_t *word, int count, bool shared) {
    return (int)hd_syscall3(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), count);
}

static int sys_signal_thread(int pid, int tid, int signal, uint64_t value) {
    siginfo_t info = {0};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = pid;
    info.si_value.sival_ptr = (void *)value;
    return (int)hd_syscall4(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info);
}

static int sys_signal_action(int signal, const void *new_action, void *old_action) {
    return (int)hd_syscall4(SYS_rt_sigaction, signal, new_action, old_action, HD_KERNEL_SIGSET_BYTES);
}

static int sys_alt_stack(const void *new_stack, void *old_stack) {
    return (int)hd_syscall2(SYS_sigaltstack, new_stack, old_stack);
}

static int sys_signal_mask(int how, const uint64_t *set, uint64_t *old) {
    return (int)hd_syscall4(SYS_rt_sigprocmask, how, set, old, HD_KERNEL_SIGSET_BYTES);
}

static int sys_set_thread_name(const char *name) {
    return (int)hd_syscall2(SYS_prctl, PR_SET_NAME, name);
}

static int sys_get_thread_name(char name[16]) {
    return (int)hd_syscall2(SYS_prctl, PR_GET_NAME, name);
}

static int sys_get_pid(void) {
    return (int)hd_syscall0(SYS_getpid);
}

static uint64_t sys_get_tid(void) {
    return (uint64_t)hd_syscall0(SYS_gettid);
}

static long sys_get_random(void *buf, size_t n) {
    return hd_syscall3(SYS_getrandom, buf, n, 0);
}

static int read_clock(int clock, uint64_t *ns) {
    struct timespec ts = {0};
    long r = hd_syscall2(SYS_clock_gettime, clock, &ts);
    if (r < 0) {
        return (int)r;
    }
    *ns = (uint64_t)ts.tv_sec * HD_NS_PER_S + (uint64_t)ts.tv_nsec;
    return 0;
}

static int sys_wall_clock(uint64_t *ns) {
    return read_clock(CLOCK_REALTIME, ns);
}

static int sys_boot_clock(uint64_t *ns) {
    return read_clock(CLOCK_BOOTTIME, ns);
}

/* Reads the clock with the number that pthread_getcpuclockid returns: CPUCLOCK_SCHED of one thread, see
 * include/linux/posix-timers_types.h. `tid` is the thread's id in the caller's PID namespace. */
static int sys_thread_cpu_clock(uint64_t tid, uint64_t *ns) {
    return read_clock((int)(~(unsigned)tid << 3 | 6u), ns);
}

static long sys_read_memory(int pid, uint64_t addr, void *buf, size_t n) {
    struct iovec local = {.iov_base = buf, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)addr, .iov_len = n};
    return hd_syscall6(SYS_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
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
    .futex_wait = sys_futex_wait,
    .futex_wake = sys_futex_wake,
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

int hd_os_open_folder(int dir, const char *name, bool follow) {
    return hd_os.open_at(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);
}

int hd_os_open_memory(void) {
    return hd_proc_open_own_task((int)hd_os.get_tid(), "mem", O_RDONLY | O_CLOEXEC);
}

uint64_t hd_os_modified_ns(const struct stat *st) {
    return (uint64_t)st->st_mtim.tv_sec * HD_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

bool hd_os_is_main_thread(void) {
    return hd_os.get_tid() == (uint64_t)hd_os.get_pid();
}

bool hd_os_has_more_rights(void) {
    return getauxval(AT_SECURE) != 0;
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
