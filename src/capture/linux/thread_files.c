/* SPDX-License-Identifier: MIT
 *
 * Opens and reads the files of one thread. On the monitor or worker thread: no allocation, no lock.
 */
#include "capture/linux/thread_files.h"

#include <errno.h>
#include <fcntl.h>

#include "base/text.h"
#include "os/descriptor_table.h"
#include "os/os.h"

#define STATUS_BYTES_MAX (128u * 1024u)

/* Each of Hangdog's threads has its own copy of this struct, because each has a private descriptor table. */
static __thread struct {
    int task_dir; /* the descriptor of /proc/PID/task, plus 1; 0: the folder is not open */
    int mem;      /* the descriptor of /proc/self/mem, plus 1; 0: the file is not open */
    int pid;      /* the process number of the other process whose threads are captured; 0: this process */
} kept;

int hd_capture_files_open(void) {
    int dir = hd_os.open_at(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir < 0) {
        return dir;
    }
    int mem = hd_os_open(AT_FDCWD, "/proc/self/mem");
    hd_capture_files_close();
    kept.task_dir = dir + 1;
    kept.mem = mem < 0 ? 0 : mem + 1;
    hd_os_touched_open();
    return 0;
}

/* Opens no file `mem`, because the process number is enough to read the memory of another process. A read of
 * `mem` would create pages that the process has never touched. */
int hd_capture_process_open(int proc_fd, int pid) {
    int dir = hd_os.open_at(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir < 0) {
        return dir;
    }
    hd_capture_files_close();
    kept.task_dir = dir + 1;
    kept.pid = pid;
    return 0;
}

void hd_capture_files_close(void) {
    hd_os_close(kept.task_dir - 1);
    hd_os_close(kept.mem - 1);
    kept.task_dir = 0;
    kept.mem = 0;
    kept.pid = 0;
    hd_os_touched_close();
}

void hd_capture_files_confine(void) {
    kept.task_dir = hd_private_table_confine(kept.task_dir - 1) + 1;
}

long hd_thread_files_memory(uint64_t addr, void *to, size_t n) {
    /* Read the open file `mem` if there is one, because most seccomp filters allow pread, but may kill the
     * process for process_vm_readv. */
    if (kept.mem > 0) {
        return hd_os.pread(kept.mem - 1, to, n, addr);
    }
    return hd_os.read_memory(kept.pid != 0 ? kept.pid : hd_os.get_pid(), addr, to, n);
}

int hd_thread_files_open_one(const struct hd_thread_files *f, const char *name) {
    char path[64];
    struct hd_text t;
    int dir = kept.task_dir > 0 ? kept.task_dir - 1 : AT_FDCWD;
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, dir == AT_FDCWD ? "/proc/self/task/" : "");
    hd_text_i64(&t, f->tid);
    hd_text_str(&t, "/");
    hd_text_str(&t, name);
    return hd_os_open(dir, path);
}

int hd_thread_files_open(struct hd_thread_files *f, hd_thread_id thread) {
    f->tid = hd_thread_id_tid(thread);
    f->syscall_fd = hd_thread_files_open_one(f, "syscall");
    f->schedstat_fd = hd_thread_files_open_one(f, "schedstat");
    f->status_fd = hd_thread_files_open_one(f, "status");
    return f->syscall_fd < 0 ? f->syscall_fd : 0;
}

void hd_thread_files_close(struct hd_thread_files *f) {
    int *files[] = {&f->syscall_fd, &f->schedstat_fd, &f->status_fd};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        hd_os_close(*files[i]);
        *files[i] = -1;
    }
}

/* Reads an open file of /proc. Returns the number of bytes read, at least one, or an error. The files of
 * an ended thread read as empty, or give -ESRCH. */
static long read_text(int fd, char *text, size_t bytes) {
    long n = fd < 0 ? -ENOENT : hd_os.pread(fd, text, bytes, 0);
    return n == 0 ? -ESRCH : n;
}

/* In the file `status` the values come after the line of group numbers, which may have tens of thousands of
 * numbers. So the file is read in pieces that overlap by half a buffer, and only the last piece is parsed. */
int hd_thread_files_status(const struct hd_thread_files *f, struct hd_proc_status *out) {
    char text[4096];
    for (uint64_t at = 0; at < STATUS_BYTES_MAX; at += sizeof text / 2) {
        long n = f->status_fd < 0 ? -ENOENT : hd_os.pread(f->status_fd, text, sizeof text, at);
        if (n <= 0) {
            return n < 0 ? (int)n : -ESRCH;
        }
        if ((size_t)n < sizeof text) {
            return hd_proc_parse_status(text, (size_t)n, out) ? 0 : -EPROTO;
        }
    }
    return -EPROTO;
}

/* Opens the thread's file `stat` for each read, so that a process with many loops needs fewer descriptors.
 * The kernel lets any thread open `stat`, even after the process has dropped its privileges. */
int hd_thread_files_stat(const struct hd_thread_files *f, struct hd_proc_stat *out) {
    char text[512];
    int fd = hd_thread_files_open_one(f, "stat");
    long n = fd < 0 ? fd : read_text(fd, text, sizeof text - 1);
    hd_os_close(fd);
    text[n > 0 ? n : 0] = '\0';
    *out = hd_proc_stat_parse(text);
    return n < 0 ? (int)n : out->state == 0 ? -EPROTO : 0;
}

int hd_thread_files_state(const struct hd_thread_files *f, enum hd_run_state *out) {
    struct hd_proc_stat stat;
    int rc = hd_thread_files_stat(f, &stat);
    *out = rc == 0 ? hd_proc_run_state(stat.state) : *out;
    return rc;
}

long hd_thread_files_syscall(const struct hd_thread_files *f, char text[HD_PROC_SYSCALL_BYTES],
                             struct hd_proc_syscall *out) {
    long n = read_text(f->syscall_fd, text, HD_PROC_SYSCALL_BYTES);
    if (n < 0) {
        return n;
    }
    if (!hd_proc_parse_syscall(text, (size_t)n, out)) {
        return -EPROTO;
    }
    return out->where == HD_PROC_ENDED ? -ESRCH : n;
}

int hd_thread_files_where(const struct hd_thread_files *f) {
    struct hd_proc_syscall call;
    char text[HD_PROC_SYSCALL_BYTES];
    long n = hd_thread_files_syscall(f, text, &call);
    return n < 0 ? (int)n : (int)call.where;
}

bool hd_thread_files_is_at(const struct hd_thread_files *f, const struct hd_capture *c) {
    struct hd_proc_syscall call;
    char text[HD_PROC_SYSCALL_BYTES];
    return hd_thread_files_syscall(f, text, &call) > 0 && call.where == HD_PROC_BLOCKED &&
           call.nr == c->syscall_nr && call.pc == c->regs.pc && call.sp == c->regs.sp;
}

long hd_thread_files_schedstat(const struct hd_thread_files *f, char *text, size_t bytes) {
    return read_text(f->schedstat_fd, text, bytes);
}

int hd_thread_files_cpu(const struct hd_thread_files *f, uint64_t *ns) {
    int rc = kept.pid != 0 ? -ENOTSUP : hd_os.thread_cpu_clock((uint64_t)f->tid, ns);
    *ns = rc < 0 ? 0 : *ns;
    return rc == -EINVAL ? -ESRCH : rc;
}

uint64_t hd_thread_files_cpu_ns(const struct hd_thread_files *f) {
    uint64_t ns;
    (void)hd_thread_files_cpu(f, &ns);
    return ns;
}
