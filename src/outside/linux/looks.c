/* SPDX-License-Identifier: MIT
 *
 * The way `looks`: reads at each look which system call each watched thread is blocked in. Needs no right but
 * that to read the process's /proc.
 */
#include "outside/linux/looks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/linux/proc_text.h"
#include "os/os.h"
#include "os/syscall_table.h"

struct thread {
    pid_t pid, tid;
    int fd;
    bool known, waits;
    uint64_t since_ns, earlier_ns, looked_ns, turns, longest_ns, busy_ns;
    uint32_t kinds;
    struct kind {
        int32_t nr;
        uint64_t pc, sp, first;
        enum hd_wait_verdict verdict;
    } kind[HD_HOOK_KINDS];
};

struct hd_hook {
    struct hd_hook_events events;
    uint64_t long_ns;
    struct thread *thread;
    unsigned count, room;
};

static struct thread *find(struct hd_hook *h, pid_t tid) {
    for (unsigned i = 0; i < h->count; i++) {
        if (h->thread[i].tid == tid) {
            return &h->thread[i];
        }
    }
    return NULL;
}

static int looks_open(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    *hook = calloc(1, sizeof **hook);
    if (*hook == NULL) {
        return -ENOMEM;
    }
    (*hook)->events = *events;
    (*hook)->long_ns = long_ns;
    return 0;
}

static void looks_close(struct hd_hook *h) {
    for (unsigned i = 0; i < h->count; i++) {
        close(h->thread[i].fd);
    }
    free(h->thread);
    free(h);
}

static int looks_watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (h->count == h->room) {
        unsigned room = h->room != 0 ? 2 * h->room : 16;
        struct thread *more = realloc(h->thread, room * sizeof *more);
        if (more == NULL) {
            close(fd);
            return -ENOMEM;
        }
        h->thread = more;
        h->room = room;
    }
    uint64_t now_ns = hd_os_now_ns();
    h->thread[h->count++] =
        (struct thread){.pid = pid, .tid = tid, .fd = fd, .since_ns = now_ns, .looked_ns = now_ns};
    return 0;
}

static void looks_unwatch(struct hd_hook *h, pid_t tid) {
    struct thread *t = find(h, tid);
    if (t != NULL) {
        close(t->fd);
        *t = h->thread[--h->count];
    }
}

static void wait_begins(struct hd_hook *h, struct thread *t, uint64_t now_ns) {
    uint64_t turn_ns = now_ns - t->since_ns;
    if (t->known && !t->waits) {
        t->turns++;
        t->busy_ns += turn_ns;
        t->longest_ns = turn_ns > t->longest_ns ? turn_ns : t->longest_ns;
        if (turn_ns >= h->long_ns) {
            h->events.turn(h->events.arg, t->tid,
                           &(struct hd_hook_turn){
                               .start_ns = t->since_ns, .earlier_ns = t->earlier_ns, .end_ns = now_ns});
        }
    }
    if (!t->waits) {
        t->since_ns = now_ns;
    }
    t->known = t->waits = true;
}

static void looks_judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    struct thread *t = find(h, tid);
    if (t != NULL && kind < HD_HOOK_KINDS) {
        t->kind[kind].verdict = verdict;
    }
}

static void looks_read(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out) {
    const struct thread *t = find(h, tid);
    memset(out, 0, sizeof *out);
    if (t != NULL) {
        *out = (struct hd_hook_thread){.known = t->known,
                                       .waits = t->waits,
                                       .since_ns = t->since_ns,
                                       .earlier_ns = t->earlier_ns,
                                       .turns = t->turns,
                                       .longest_ns = t->longest_ns,
                                       .busy_ns = t->busy_ns};
    }
}

static void looks_times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    (void)h, (void)tid, (void)kind;
    memset(out, 0, sizeof *out);
}

static void looks_suspect(struct hd_hook *h, pid_t tid, bool on) {
    (void)h, (void)tid, (void)on;
}

static uint32_t kind_of(struct hd_hook *h, struct thread *t, const struct hd_proc_syscall *c,
                        uint64_t now_ns) {
    for (uint32_t i = 0; i < t->kinds && i < HD_HOOK_KINDS; i++) {
        const struct kind *k = &t->kind[i];
        if (k->nr == c->nr && k->pc == c->pc && k->sp == c->sp && k->first == c->args[0]) {
            return i;
        }
    }
    uint32_t i = t->kinds++ % HD_HOOK_KINDS;
    t->kind[i] = (struct kind){.nr = c->nr, .pc = c->pc, .sp = c->sp, .first = c->args[0]};
    struct hd_hook_sight sight = {.kind = i,
                                  .nr = c->nr,
                                  .blocks = true,
                                  .at_ns = now_ns,
                                  .regs = {.pc = c->pc, .sp = c->sp},
                                  .stack_addr = c->sp};
    memcpy(sight.args, c->args, sizeof sight.args);
    pid_t tid = t->tid;
    h->events.sight(h->events.arg, tid, &sight);
    return i;
}

static void look(struct hd_hook *h, unsigned at, uint64_t now_ns) {
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call;
    struct thread *t = &h->thread[at];
    long n = hd_os.pread(t->fd, text, sizeof text, 0);
    if (n <= 0 || !hd_proc_parse_syscall(text, (size_t)n, &call) || call.where == HD_PROC_ENDED) {
        h->events.thread_ended(h->events.arg, t->tid, 0);
        return;
    }
    bool waits = false;
    if (call.where == HD_PROC_BLOCKED && hd_syscall_wait(call.nr) == HD_WAIT_ANY) {
        uint32_t kind = kind_of(h, t, &call, now_ns);
        waits = t->kind[kind].verdict == HD_WAIT_IDLE;
    }
    if (waits) {
        wait_begins(h, t, now_ns);
    } else if (t->waits) {
        t->waits = false;
        t->since_ns = now_ns;
        t->earlier_ns = now_ns - t->looked_ns;
    }
    t->looked_ns = now_ns;
}

static void looks_step(struct hd_hook *h, uint64_t now_ns) {
    for (unsigned i = 0; i < h->count; i++) {
        look(h, i, now_ns);
    }
}

static int looks_descriptor(struct hd_hook *h) {
    (void)h;
    return -1;
}

const struct hd_hook_way hd_looks_way = {.name = "looks",
                                         .needs = "the right to read the process's /proc",
                                         .turns = HD_TURNS_POLLED,
                                         .open = looks_open,
                                         .close = looks_close,
                                         .watch = looks_watch,
                                         .unwatch = looks_unwatch,
                                         .judge = looks_judge,
                                         .read = looks_read,
                                         .times = looks_times,
                                         .suspect = looks_suspect,
                                         .step = looks_step,
                                         .descriptor = looks_descriptor};
