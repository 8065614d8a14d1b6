/* SPDX-License-Identifier: MIT */
#include "worker/pool_threads.h"

#include <string.h>
#include <sys/syscall.h>

#include "os/thread_list.h"

#define VISIT_NS (200 * HD_NS_PER_MS)
#define VISIT_MOST_NS (8 * HD_NS_PER_S)
/* A condition variable has two futex words, and the words of two of them are at least this far apart. */
#define WORD_SPAN 16
#define TRIES_MAX 50
#define TRIES_MIN 3 /* a thread that has just started has not called its function yet */
#define STACKS_PER_LIST 24
#define VISITS_MIN 2
/* how long after its first thread a pool may get new ones without being elastic */
#define GROWS_NS (2 * HD_NS_PER_S)
#define FUTEX_OP(op) ((op)&0x7f)

static bool is_futex_wait(const struct hd_proc_syscall *call) {
    uint64_t op = FUTEX_OP(call->args[1]);
    return call->where == HD_PROC_BLOCKED && call->nr == SYS_futex && (op == 0 || op == 9);
}

static bool is_near(uint64_t a, uint64_t b) {
    return a - b + WORD_SPAN <= 2 * WORD_SPAN;
}

/* ---- threads ---------------------------------------------------------------------------------- */

static void remove_thread(struct hd_pools *p, struct hd_pool_thread *t) {
    if (t->pool != 0 && p->pool[t->pool - 1].kind == HD_POOL_OWN) {
        p->pool[t->pool - 1].elastic = true;
    }
    hd_thread_files_close(&t->files);
    *t = p->thread[--p->threads];
    memset(&p->thread[p->threads], 0, sizeof *t);
}

static struct hd_pool_thread *find_thread(struct hd_pools *p, hd_thread_id thread) {
    for (uint32_t i = 0; i < p->threads; i++) {
        if (hd_thread_id_equal(p->thread[i].thread, thread)) {
            return &p->thread[i];
        }
    }
    return NULL;
}

static void add_thread(struct hd_pools *p, hd_thread_id thread, uint64_t now_ns) {
    if (p->threads == HD_POOL_THREADS_MAX) {
        return;
    }
    struct hd_pool_thread *t = &p->thread[p->threads++];
    *t = (struct hd_pool_thread){.thread = thread,
                                 .files = {.tid = hd_thread_id_tid(thread), -1, -1, -1},
                                 .first_ns = now_ns,
                                 .read_ns = p->listed_ns,
                                 .since_ns = p->listed_ns,
                                 .listed = true};
    t->idle.nr = t->place.nr = HD_SYSCALL_NONE;
}

static void list_threads(struct hd_worker *worker, uint64_t now_ns) {
    struct hd_pools *p = &worker->pools;
    struct hd_thread_list list;
    hd_thread_id monitor = atomic_load_explicit(&worker->run->channel.threads.monitor, memory_order_relaxed);
    for (uint32_t i = 0; i < p->threads; i++) {
        p->thread[i].listed = false;
    }
    hd_thread_list_start(&list, worker->probe.proc_fd);
    for (hd_thread_id id; !hd_thread_id_is_none(id = hd_thread_list_next(&list));) {
        struct hd_pool_thread *t = find_thread(p, id);
        if (t != NULL) {
            t->listed = true;
        } else if (!hd_thread_id_equal(id, monitor) && !hd_thread_id_equal(id, worker->own_thread) &&
                   hd_watch_of_thread(&worker->run->watches, id) == NULL) {
            add_thread(p, id, now_ns);
        }
    }
    for (uint32_t i = p->threads; i > 0; i--) {
        if (!p->thread[i - 1].listed) {
            remove_thread(p, &p->thread[i - 1]);
        }
    }
}

long hd_pool_threads_read_call(struct hd_pool_thread *t, struct hd_proc_syscall *call) {
    char text[HD_PROC_SYSCALL_BYTES];
    if (t->files.syscall_fd < 0) {
        t->files.syscall_fd = hd_thread_files_open_one(&t->files, "syscall");
        t->files.schedstat_fd = hd_thread_files_open_one(&t->files, "schedstat");
    }
    return hd_thread_files_syscall(&t->files, text, call);
}

bool hd_pool_threads_is_idle(const struct hd_pool_thread *t, const struct hd_pool *pool,
                             const struct hd_proc_syscall *call) {
    if (pool->kind == HD_POOL_OWN) {
        return is_futex_wait(call) && is_near(call->args[0], pool->key);
    }
    return t->idle.nr == call->nr && t->idle.sp == call->sp && t->idle.pc == call->pc &&
           is_near(t->idle.word, call->args[0]);
}

/* ---- to which pool a thread belongs ----------------------------------------------------------- */

/* Returns the index of a pool whose threads have all ended; HD_POOLS_MAX: there is none. */
static uint32_t unused_pool(const struct hd_pools *p) {
    uint32_t used = p->turn.used ? 1u << p->stalled : 0, at = 0;
    for (uint32_t i = 0; i < p->threads; i++) {
        used |= p->thread[i].pool != 0 ? 1u << (p->thread[i].pool - 1) : 0;
    }
    for (; at < HD_POOLS_MAX && (used >> at & 1) != 0; at++) {
    }
    return at;
}

static uint8_t pool_of(struct hd_pools *p, uint8_t kind, uint64_t key, uint64_t now_ns) {
    for (uint32_t i = 0; i < p->pools; i++) {
        if (p->pool[i].kind == kind &&
            (p->pool[i].key == key || (kind == HD_POOL_OWN && is_near(key, p->pool[i].key)))) {
            return (uint8_t)(i + 1);
        }
    }
    uint32_t at = p->pools < HD_POOLS_MAX ? p->pools++ : unused_pool(p);
    if (at == HD_POOLS_MAX) {
        return 0;
    }
    p->pool[at] = (struct hd_pool){.kind = kind, .key = key, .born_ns = now_ns, .free_ns = p->looked_ns};
    return (uint8_t)(at + 1);
}

static void join(struct hd_pools *p, struct hd_pool_thread *t, uint8_t pool) {
    t->pool = pool;
    if (pool != 0) {
        p->pool[pool - 1].elastic |= t->first_ns > p->pool[pool - 1].born_ns + GROWS_NS;
    }
}

static void set_place(struct hd_pool_place *place, const struct hd_capture *c) {
    *place = (struct hd_pool_place){
        .nr = c->syscall_nr, .word = c->syscall_args[0], .sp = c->regs.sp, .pc = c->regs.pc};
}

bool hd_pool_threads_classify(struct hd_worker *worker, struct hd_pool_thread *t, struct hd_pool_stack *out) {
    struct hd_capture c;
    struct hd_walk walk;
    uint32_t count = hd_pool_kind_capture(worker, t->thread, &c, &walk);
    if (count == 0) {
        return false;
    }
    hd_pool_kind_read(worker, t->thread, &c, &walk, count, out);
    if (out->idle) {
        set_place(&t->idle, &c);
    }
    return true;
}

/* Finds the pool of a thread by the functions on its stack. */
static void settle(struct hd_worker *worker, struct hd_pool_thread *t, uint64_t now_ns) {
    struct hd_pool_stack stack;
    t->tries++;
    if (!hd_pool_threads_classify(worker, t, &stack)) {
        t->settled = t->tries >= TRIES_MAX;
        return;
    }
    t->settled = (stack.whole && t->tries >= TRIES_MIN) || t->tries >= TRIES_MAX;
    if (stack.kind != HD_POOL_NONE) {
        t->settled = true;
        join(&worker->pools, t, pool_of(&worker->pools, stack.kind, stack.key, now_ns));
    }
}

/* A thread of no known pool: stores where it waits. It came there anew if it has run since. */
static void read_visit(struct hd_pool_thread *t) {
    struct hd_proc_syscall call;
    struct hd_sched sched;
    t->blocked = hd_pool_threads_read_call(t, &call) > 0 && is_futex_wait(&call);
    if (t->blocked && hd_thread_clock_sched(&t->files, &sched) == 0 &&
        (t->place.nr != SYS_futex || sched.slices != t->sched.slices)) {
        t->visits = is_near(t->place.word, call.args[0]) ? (uint16_t)(t->visits + 1) : 1;
        t->place = (struct hd_pool_place){.nr = call.nr, .word = call.args[0], .sp = call.sp, .pc = call.pc};
        t->sched = sched;
    }
    hd_thread_files_close(&t->files);
}

static bool may_be_idle(struct hd_worker *worker, const struct hd_pool_thread *t) {
    struct hd_capture c;
    struct hd_walk walk;
    uint32_t count = hd_pool_kind_capture(worker, t->thread, &c, &walk);
    return count != 0 && walk.stop == HD_STOP_ROOT && is_near(c.syscall_args[0], t->place.word) &&
           hd_pool_kind_may_be_idle(worker, t->thread, &c, count);
}

/* Two threads wait at one condition variable or semaphore, and have come back to it: they are of a pool. */
static void learn_own(struct hd_worker *worker, uint64_t now_ns) {
    struct hd_pools *p = &worker->pools;
    for (uint32_t i = 0; i < p->threads; i++) {
        struct hd_pool_thread *a = &p->thread[i];
        for (uint32_t j = 0; j < p->threads && a->pool == 0 && a->blocked && a->visits >= VISITS_MIN; j++) {
            struct hd_pool_thread *b = &p->thread[j];
            if (i == j || !b->blocked || b->visits < VISITS_MIN || !is_near(a->place.word, b->place.word)) {
                continue;
            }
            if (may_be_idle(worker, a)) {
                join(p, a, pool_of(p, HD_POOL_OWN, a->place.word, now_ns));
            } else {
                a->visits = 0;
            }
        }
    }
}

/* Reads where the threads of no known pool wait. Each time without news makes the next one rarer. */
static void visit_all(struct hd_worker *worker, uint64_t now_ns) {
    struct hd_pools *p = &worker->pools;
    bool news = false;
    for (uint32_t i = 0; i < p->threads; i++) {
        struct hd_pool_thread *t = &p->thread[i];
        uint16_t visits = t->visits;
        if (t->pool == 0) {
            read_visit(t);
            news |= visits != t->visits;
        }
    }
    if (news) {
        learn_own(worker, now_ns);
    }
    p->visited_ns = now_ns;
    p->visit_step_ns = news                                   ? 0
                       : p->visit_step_ns < VISIT_MOST_NS / 2 ? 2 * p->visit_step_ns + VISIT_NS
                                                              : VISIT_MOST_NS;
}

bool hd_pool_threads_are_new(const struct hd_pools *p) {
    for (uint32_t i = 0; i < p->threads; i++) {
        if (!p->thread[i].settled && p->thread[i].tries < TRIES_MIN) {
            return true;
        }
    }
    return false;
}

void hd_pool_threads_list(struct hd_worker *worker, uint64_t now_ns, bool all) {
    struct hd_pools *p = &worker->pools;
    uint32_t stacks = 0;
    uint64_t cpu_ns = hd_os_thread_cpu_ns();
    list_threads(worker, now_ns);
    p->list_cost_ns = hd_os_thread_cpu_ns() - cpu_ns;
    for (uint32_t i = 0; i < p->threads; i++) {
        struct hd_pool_thread *t = &p->thread[i];
        if (!t->settled && (all || stacks < STACKS_PER_LIST)) {
            stacks++;
            settle(worker, t, now_ns);
        }
    }
    if (all || now_ns >= p->visited_ns + p->visit_step_ns) {
        visit_all(worker, now_ns);
    }
    p->listed_ns = now_ns;
}
