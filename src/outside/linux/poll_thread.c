/* SPDX-License-Identifier: MIT */
#include "outside/linux/poll_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "capture/arch/linux_context.h"
#include "os/os.h"

static int open_file(pid_t pid, pid_t tid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return hd_os_open(AT_FDCWD, path);
}

int hd_poll_thread_open(struct hd_poll_thread *t, pid_t pid, pid_t tid, uint64_t look_ns) {
    *t = (struct hd_poll_thread){.pid = pid, .tid = tid, .kinds.now = HD_POLL_NO_KIND, .schedstat_fd = -1};
    hd_poll_turn_init(&t->turn, hd_os_now_ns(), look_ns);
    t->syscall_fd = open_file(pid, tid, "syscall");
    if (t->syscall_fd < 0) {
        return t->syscall_fd;
    }
    t->schedstat_fd = open_file(pid, tid, "schedstat");
    return t->schedstat_fd < 0 ? t->schedstat_fd : 0;
}

void hd_poll_thread_close(struct hd_poll_thread *t) {
    hd_os_close(t->syscall_fd);
    hd_os_close(t->schedstat_fd);
    t->syscall_fd = t->schedstat_fd = -1;
}

static long read_file(int fd, char *text, size_t bytes) {
    long n = hd_os.pread(fd, text, bytes, 0);
    return n == 0 ? -ESRCH : n;
}

/* Both files of one instant, as far as possible: a thread that has got a CPU between the two reads runs. */
static int read_files(const struct hd_poll_thread *t, struct hd_proc_syscall *call, struct hd_sched *sched) {
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_sched before = {0};
    long n = read_file(t->schedstat_fd, text, sizeof text);
    if (n > 0 && !hd_proc_parse_schedstat(text, (size_t)n, &before)) {
        n = -EPROTO;
    }
    n = n < 0 ? n : read_file(t->syscall_fd, text, sizeof text);
    if (n < 0 || !hd_proc_parse_syscall(text, (size_t)n, call)) {
        return n < 0 ? (int)n : -EPROTO;
    }
    if (call->where == HD_PROC_ENDED) {
        return -ESRCH;
    }
    n = read_file(t->schedstat_fd, text, sizeof text);
    if (n < 0 || !hd_proc_parse_schedstat(text, (size_t)n, sched)) {
        return n < 0 ? (int)n : -EPROTO;
    }
    if (call->where == HD_PROC_BLOCKED && sched->slices != before.slices) {
        call->where = HD_PROC_RUNNING;
    }
    return 0;
}

static void fill_sight(struct hd_hook_sight *s, int32_t kind, const struct hd_proc_syscall *call,
                       uint64_t at_ns) {
    *s = (struct hd_hook_sight){.kind = (uint32_t)kind, .nr = call->nr, .blocks = true, .at_ns = at_ns};
    memcpy(s->args, call->args, sizeof s->args);
    s->regs.pc = call->pc;
    s->regs.sp = call->sp;
    s->stack_addr = call->sp;
    hd_machine_blocked_regs(&s->regs, call->args);
}

int hd_poll_thread_look(struct hd_poll_thread *t, hd_poll_prove prove, struct hd_poll_seen *seen) {
    struct hd_proc_syscall call = {.nr = HD_SYSCALL_NONE};
    struct hd_poll_look look = {.proven_ns = 0};
    const uint64_t before_ns = t->turn.last.at_ns; /* a wait may have begun just after that look */
    int32_t kind = HD_POLL_NO_KIND;
    seen->new_kind = seen->turn_ended = false;
    int rc = read_files(t, &call, &look.sched);
    if (rc != 0) {
        return rc;
    }
    look.at_ns = hd_os_now_ns();
    look.blocked = call.where == HD_PROC_BLOCKED;
    if (look.blocked) {
        kind = hd_poll_kinds_find(&t->kinds, &call, &seen->new_kind);
    } else if (hd_poll_turn_rests(&t->turn.last, &look)) { /* woken, and without a CPU */
        look.blocked = true;
        kind = t->kinds.now;
    }
    const struct hd_sched *last = &t->turn.last.sched;
    uint64_t ended = hd_sched_known(last) ? look.sched.slices - last->slices : 0;
    hd_poll_kinds_look(&t->kinds, kind, ended, look.sched.cpu_ns - last->cpu_ns, look.at_ns);
    look.waits = hd_poll_thread_is_idle(t, kind);
    if (prove != NULL) {
        prove(t, &look);
    }
    seen->turn_ended = hd_poll_turn_look(&t->turn, &look, &seen->turn);
    if (seen->new_kind) {
        fill_sight(&seen->sight, kind, &call, before_ns);
    }
    return 0;
}
