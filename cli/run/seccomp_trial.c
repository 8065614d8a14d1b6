/* SPDX-License-Identifier: MIT
 * The kernel does not show what a seccomp filter allows, and a forbidden call may kill the process. So a
 * child tries every system call of a monitor, and before that another child tries the runner's calls.
 */
#include "cli/run/seccomp_trial.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "os/os.h"

static void *thread(void *unused) {
    hd_os.set_thread_name("hangdog");
    return unused;
}

static void handle(int signal) {
    (void)signal;
}

/* The calls of our signal handler on a watched thread, and the return from the handler. */
static void make_the_handlers(void) {
    uint64_t pending, mask = 1ULL << (SIGURG - 1);
    hd_os.signal_mask(SIG_UNBLOCK, &mask, NULL);
    signal(SIGURG, handle);
    raise(SIGURG);
    signal(SIGURG, SIG_DFL);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0);
}

/* Sockets for the look-up of peers, and for the journal. */
static void make_the_sockets(void) {
    hd_os.close(hd_os.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
    int fd = hd_os.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    hd_os.connect(fd, "", 0);
    hd_os.close(fd);
}

/* Only the attempts count, not the results. */
static void make_the_calls(void) {
    static uint32_t word;
    _Alignas(8) char byte[512];
    struct stat st;
    uint64_t mask = 0, ns;
    char handler[64] = {0}, stack[64];
    uid_t id[3];
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    int fd = hd_os.open_at(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    hd_os.read_names(fd, byte, sizeof byte);
    hd_os.close(fd);
    fd = hd_os.open_at(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    hd_os.read(fd, byte, 1);
    hd_os.pread(fd, byte, 1, 0);
    hd_os.close(fd);
    hd_os.write(-1, byte, 1);
    hd_os.fsync(-1);
    hd_os.rename_at(-1, "", "");
    hd_os.unlink_at(-1, "");
    hd_os.mkdir_at(-1, "", 0);
    hd_os.chmod_at(-1, "", 0);
    hd_os.chmod_at(-1, "x", 0);
    hd_os.ftruncate(-1, 0);
    hd_os.flock(-1, 0);
    hd_os.readlink_at(AT_FDCWD, "/proc/self/exe", byte, sizeof byte);
    hd_os.get_xattr("/", "user.hangdog", byte, sizeof byte);
    hd_os.stat_at(AT_FDCWD, "/", &st, 0);
    hd_os.file_type_at(AT_FDCWD, "/", &word);
    hd_os.futex_wait(&word, 1, UINT64_MAX, false);
    hd_os.futex_wake(&word, 1, false);
    hd_os.signal_action(SIGURG, NULL, handler);
    hd_os.alt_stack(NULL, stack);
    hd_os.signal_mask(SIG_BLOCK, &mask, NULL);
    hd_os.signal_thread(hd_os.get_pid(), (int)hd_os.get_tid(), SIGURG, 0);
    hd_os.get_random(byte, 1);
    hd_os.wall_clock(&ns);
    hd_os.boot_clock(&ns);
    hd_os_clock_init();
    hd_os_thread_cpu_ns();
    hd_os_process_cpu_ns();
    hd_os.thread_cpu_clock(hd_os.get_tid(), &ns);
    hd_os.read_memory(hd_os.get_pid(), (uint64_t)(uintptr_t)&word, byte, sizeof word);
    make_the_handlers();
    make_the_sockets();
    getresuid(&id[0], &id[1], &id[2]);
    getresgid(&id[0], &id[1], &id[2]);
    syscall(SYS_capget, &header, data);
    prctl(PR_GET_NAME, byte, 0, 0, 0);
    size_t bytes = 64 * 1024 + HD_OS_STACK_EXTRA;
    void *memory = hd_os_memory_take(bytes);
    struct hd_os_thread t;
    if (memory != NULL && hd_os_thread_start(&t, memory, bytes, thread, NULL) == 0) {
        hd_os_thread_join(&t);
    }
    hd_os.protect(memory, bytes, PROT_READ);
    hd_os_memory_give(memory, bytes);
}

/* System calls of the runner that an ordinary program does not make. An argument that a filter may check has
 * the runner's value; others are invalid, so that the call has no effect. Calls that only a child makes, and
 * that would kill only that child, are not listed. */
#define CALL(call, ...) .name = #call, .number = SYS_##call, .argument = {__VA_ARGS__}
#define NONE (-1L)

static const struct {
    const char *name;
    long number, argument[4];
} runner_calls[] = {
    {CALL(prlimit64, NONE)},
    {CALL(getxattr, NONE)},
    {CALL(faccessat2, AT_FDCWD, NONE, X_OK, AT_EACCESS)},
    {CALL(statfs, NONE)},
    {CALL(mkdirat, NONE, NONE)},
    {CALL(renameat2, NONE, NONE, NONE, NONE)},
    {CALL(unlinkat, NONE, NONE)},
    {CALL(flock, NONE, LOCK_EX | LOCK_NB)},
    {CALL(ftruncate, NONE)},
    {CALL(fsync, NONE)},
    {CALL(signalfd4, NONE, NONE, sizeof(uint64_t), SFD_CLOEXEC | SFD_NONBLOCK)}, /* the first not of --exec */
    {CALL(memfd_create, NONE, MFD_CLOEXEC)},
    {CALL(inotify_init1, IN_CLOEXEC)},
    {CALL(inotify_add_watch, NONE, NONE)},
    {CALL(setitimer, ITIMER_REAL, NONE)},
    {CALL(pipe2, NONE, O_CLOEXEC)},
    {CALL(eventfd2, 0, EFD_CLOEXEC)},
    {CALL(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, NONE)},
    {CALL(waitid, P_ALL, 0, 0, WEXITED | WNOHANG)},
    {CALL(rt_sigpending, NONE, sizeof(uint64_t))},
    {CALL(clone3, NONE, NONE)},
};

static _Noreturn void make_runner_calls(volatile size_t *made, bool exec_mode) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}); /* no core file, nor one that a program takes */
    for (size_t i = 0; i < sizeof runner_calls / sizeof runner_calls[0]; i++) {
        const long *a = runner_calls[i].argument;
        if (exec_mode && runner_calls[i].number == SYS_signalfd4) {
            break;
        }
        *made = i;
        syscall(runner_calls[i].number, a[0], a[1], a[2], a[3]);
    }
    _exit(0);
}

static bool is_filtered(void) {
    return proc_number(0, "Seccomp:", 10) != 0; /* else none, or a kernel that knows of none */
}

const char *seccomp_deadly_call(bool exec_mode) {
    volatile size_t *made = MAP_FAILED;
    int status = 0;
    if (is_filtered()) {
        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (made == MAP_FAILED) {
        return NULL;
    }
    pid_t child = fork();
    if (child == 0) {
        make_runner_calls(made, exec_mode);
    }
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status);
    const char *name = ended && WTERMSIG(status) == SIGSYS ? runner_calls[*made].name : NULL;
    munmap((void *)made, sizeof *made);
    return name;
}

static bool harmless(void) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0}; /* no core file of it, nor one that a program takes */
        setrlimit(RLIMIT_CORE, &none);
        prctl(PR_SET_DUMPABLE, 0);
        make_the_calls();
        _exit(0);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int seccomp_trial_filters(void) {
    if (!is_filtered()) {
        return 0;
    }
    int count = (int)proc_number(0, "Seccomp_filters:", 10);
    return count > 0 && harmless() ? count : -1;
}
