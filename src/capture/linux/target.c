/* SPDX-License-Identifier: MIT
 *
 * One target's files: opened once, kept, read again and again. Monitor (its descriptor table holds the
 * files): no allocation, no lock.
 */
#include "capture/linux/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "capture/linux/signalled.h"
#include "capture/mailbox.h"
#include "os/linux/descriptor_table.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

#define OUTSIDE_TICKS 10 /* some 100 ms (USER_HZ is 100) */
#define STATUS_BYTES_MAX (128u * 1024u)

/* Each thread of ours has a descriptor table of its own, and so its own of these. */
static __thread struct {
    int task_dir; /* each is the descriptor + 1, so that zero says none */
    int mem;
    int pid; /* of another process; 0: of this one */
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

/* Its memory by number, not by its `mem`: that would read, and make, pages that the process may not touch. */
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

long hd_target_read_memory(uint64_t addr, void *to, size_t n) {
    /* A seccomp filter that forbids process_vm_readv may kill; pread is one of the calls that remain. */
    if (kept.mem > 0) {
        return hd_os.pread(kept.mem - 1, to, n, addr);
    }
    return hd_os.read_memory(kept.pid != 0 ? kept.pid : hd_os.get_pid(), addr, to, n);
}

static int open_file(int tid, const char *name) {
    char path[64];
    struct hd_text t;
    int dir = kept.task_dir > 0 ? kept.task_dir - 1 : AT_FDCWD;
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, dir == AT_FDCWD ? "/proc/self/task/" : "");
    hd_text_i64(&t, tid);
    hd_text_str(&t, "/");
    hd_text_str(&t, name);
    return hd_os_open(dir, path);
}

/* Only what is the thread's own for as long as it lives may be read by plain loads: the main thread's stack,
 * which the kernel names, and what libc says that it gave the thread, as far as that is one mapping. */
static void find_bounds(struct hd_target *t) {
    const struct hd_mailbox *m = t->mailbox;
    struct hd_proc_mapping in;
    if (m->stack_end == 0 && hd_thread_id_tid(t->thread) != hd_os.get_pid()) {
        return;
    }
    int fd = open_file(hd_thread_id_tid(t->thread), "maps");
    if (fd >= 0 && hd_proc_find_mapping(fd, m->stack_end, &in, NULL, 0) == 0 && in.readable && in.writable) {
        t->stack_lo = in.start > m->stack_begin ? in.start : m->stack_begin;
        t->stack_hi = m->stack_end != 0 ? m->stack_end : in.end;
    }
    hd_os_close(fd);
}

int hd_target_open(struct hd_target *t, hd_thread_id thread) {
    int tid = hd_thread_id_tid(thread);
    t->thread = thread;
    t->syscall_fd = open_file(tid, "syscall");
    t->schedstat_fd = open_file(tid, "schedstat");
    t->status_fd = open_file(tid, "status");
    t->stack_lo = 0;
    t->stack_hi = 0;
    t->last_valid = t->wait_known = t->voluntary_valid = false;
    t->taken_ns = t->taken_slices = 0;
    if (t->mailbox != NULL) {
        find_bounds(t); /* without bounds the stack is read by fallible calls */
    }
    return t->syscall_fd < 0 ? t->syscall_fd : 0;
}

void hd_target_close(struct hd_target *t) {
    int *files[] = {&t->syscall_fd, &t->schedstat_fd, &t->status_fd};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        hd_os_close(*files[i]);
        *files[i] = -1;
    }
    hd_capture_late_forget(t);
    hd_signalled_forget(t->mailbox);
    t->mailbox = NULL;
    t->watched = false;
    t->last_valid = false;
}

/* Bytes, at least one. A file of a thread that has ended reads as nothing, or as -ESRCH. */
static long read_text(int fd, char *text, size_t bytes) {
    long n = fd < 0 ? -ENOENT : hd_os.pread(fd, text, bytes, 0);
    return n == 0 ? -ESRCH : n;
}

/* Of a file that is not kept, since a process with many loops may not have many descriptors: everybody may
 * open these, also after dropped privileges. */
static long read_once(int tid, const char *name, char *text, size_t bytes) {
    int fd = open_file(tid, name);
    if (fd < 0) {
        return fd;
    }
    long n = read_text(fd, text, bytes);
    hd_os_close(fd);
    return n;
}

/* What is wanted stands behind the line of the groups, of which a thread may have tens of thousands: the last
 * piece that is read holds at least half a buffer. */
int hd_target_status(const struct hd_target *t, struct hd_proc_status *out) {
    char text[4096];
    for (uint64_t at = 0; at < STATUS_BYTES_MAX; at += sizeof text / 2) {
        long n = t->status_fd < 0 ? -ENOENT : hd_os.pread(t->status_fd, text, sizeof text, at);
        if (n <= 0) {
            return n < 0 ? (int)n : -ESRCH;
        }
        if ((size_t)n < sizeof text) {
            return hd_proc_parse_status(text, (size_t)n, out) ? 0 : -EPROTO;
        }
    }
    return -EPROTO;
}

static int read_stat(const struct hd_target *t, struct hd_proc_stat *out) {
    char text[512];
    long n = read_once(hd_thread_id_tid(t->thread), "stat", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    *out = hd_proc_stat_parse(text);
    return n < 0 ? (int)n : out->state == 0 ? -EPROTO : 0;
}

/* Not for a tick of the kernel's clock was it in the kernel while it ran outside for many. */
static bool stays_outside(struct hd_target *t) {
    struct hd_proc_stat stat;
    if (read_stat(t, &stat) != 0) {
        return false;
    }
    if (stat.ticks_inside != t->ticks_inside || stat.ticks_outside < t->ticks_outside) {
        t->ticks_inside = stat.ticks_inside;
        t->ticks_outside = stat.ticks_outside;
    }
    /* the kernel scales both, and keeps them from going back: for a while one may grow for the other */
    return stat.ticks_outside - t->ticks_outside >= OUTSIDE_TICKS + t->back_off_ns / HD_NS_PER_S;
}

bool hd_target_backs_off(struct hd_target *t) {
    return t->back_off_until_ns != 0 && hd_os_now_ns() < t->back_off_until_ns && !stays_outside(t);
}

int hd_target_state(const struct hd_target *t, enum hd_run_state *out) {
    struct hd_proc_stat stat;
    int rc = read_stat(t, &stat);
    *out = rc == 0 ? hd_proc_run_state(stat.state) : *out;
    return rc;
}

long hd_target_syscall(const struct hd_target *t, char text[HD_PROC_SYSCALL_BYTES],
                       struct hd_proc_syscall *out) {
    long n = read_text(t->syscall_fd, text, HD_PROC_SYSCALL_BYTES);
    if (n < 0) {
        return n;
    }
    if (!hd_proc_parse_syscall(text, (size_t)n, out)) {
        return -EPROTO;
    }
    return out->where == HD_PROC_ENDED ? -ESRCH : n;
}

int hd_target_sched(const struct hd_target *t, struct hd_sched *out, bool *counted) {
    char text[HD_PROC_SCHED_BYTES];
    struct hd_proc_status status;
    long n = read_text(t->schedstat_fd, text, sizeof text);

    *counted = n > 0 && hd_proc_parse_schedstat(text, (size_t)n, out) && hd_sched_known(out);
    if (*counted) {
        return 0;
    }
    *out = (struct hd_sched){0};
    int rc = n == -ESRCH ? -ESRCH : 0; /* or it said "0 0 0" */
    if (rc == 0 && kept.pid == 0) {
        rc = hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &out->cpu_ns);
    }
    if (rc < 0) {
        return rc == -EINVAL ? -ESRCH : rc;
    }
    rc = hd_target_status(t, &status);
    out->slices = rc < 0 ? 0 : 1 + status.voluntary + status.involuntary;
    return rc;
}

int hd_capture_sched(const struct hd_target *t, struct hd_sched *out) {
    bool counted;
    return hd_target_sched(t, out, &counted);
}

bool hd_capture_rests(const struct hd_target *t, const struct hd_sched *since) {
    uint64_t cpu_ns;
    return !t->only_read && hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &cpu_ns) == 0 &&
           cpu_ns == since->cpu_ns;
}

void hd_capture_sched_now(const struct hd_target *t, struct hd_sched *sched) {
    uint64_t cpu_ns;
    if (!t->only_read && hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &cpu_ns) == 0 &&
        cpu_ns > sched->cpu_ns) {
        sched->cpu_ns = cpu_ns; /* where a hypervisor takes the time it may stand still */
    }
}

bool hd_target_bounds(struct hd_target *t, uint64_t sp, uint64_t *lo, uint64_t *hi) {
    if (!t->watched || t->mailbox == NULL || t->stack_hi == 0) {
        return false;
    }
    if (sp < t->stack_lo && t->stack_lo - sp < (1ULL << 30) && t->mailbox->stack_end == 0) {
        find_bounds(t); /* the main thread's stack grows as it is used */
    }
    *lo = t->stack_lo;
    *hi = t->stack_hi;
    return sp >= *lo && sp < *hi;
}

void hd_target_share_bounds(const struct hd_target *t) {
    __atomic_store_n(&t->mailbox->stack_lo, t->stack_lo, __ATOMIC_RELAXED);
    __atomic_store_n(&t->mailbox->stack_hi, t->stack_hi, __ATOMIC_RELAXED);
}
