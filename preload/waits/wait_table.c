/* SPDX-License-Identifier: MIT
 *
 * Watched thread: wait-free. The seldom halves: an identity seen for the first time, a stack left for the
 * worker.
 */
#include "preload/waits/wait_table.h"

#include <errno.h>
#include <sys/socket.h>

#include "capture/mailbox.h"
#include "unwind/arch/caller_registers.h"

/* The kernel keeps mappings at least 128 MiB below the main thread's stack (mmap_base): what is nearer to its
 * top is it. */
#define MAIN_STACK_MAX (64ULL << 20)
#define WAKE_EVERY_TICKS_NS (100 * HD_NS_PER_MS)

/* Under the thread sanitizer this runs inside its own interceptor of a blocking call, where it takes no
 * notice of atomics and so would call every hand-over to the worker a race. */
#define INSIDE_A_CALL __attribute__((no_sanitize("thread")))

/* Built small: the preload is in every watched process. */
#define SLOW_PATH __attribute__((noinline, cold))

struct hd_wait_hooks hd_wait_hooks;
_Thread_local struct hd_wait_table *hd_wait_table_self;

/* Between these a signal handler's waits go by unseen: what is being written is not theirs to write. */
INSIDE_A_CALL static void begin_slow_path(struct hd_wait_table *t) {
    atomic_store_explicit(&t->slow_path, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

INSIDE_A_CALL static void end_slow_path(struct hd_wait_table *t) {
    atomic_store_explicit(&t->slow_path, false, memory_order_release);
}

/* A free place, else that of the identity that waited longest ago and is not the loop's. */
INSIDE_A_CALL SLOW_PATH static struct hd_wait_entry *place_for(struct hd_wait_table *t) {
    struct hd_wait_entry *oldest = NULL;
    bool oldest_idle = false;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        struct hd_wait_entry *id = &t->entry[i];
        if (id->key == 0) {
            return id;
        }
        bool idle = atomic_load_explicit(&id->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        bool older = oldest == NULL || atomic_load_explicit(&id->order, memory_order_relaxed) <
                                           atomic_load_explicit(&oldest->order, memory_order_relaxed);
        if (oldest == NULL || (idle == oldest_idle ? older : oldest_idle)) {
            oldest = id;
            oldest_idle = idle;
        }
    }
    return oldest;
}

INSIDE_A_CALL static void note(struct hd_wait_entry *id, int fd) {
    if (fd >= 0 && id->objects.fds < HD_WAIT_FDS) {
        id->objects.fd[id->objects.fds++] = fd;
    }
}

/* Asked here, since the worker has none of these descriptors: a filter may refuse it a copy. */
INSIDE_A_CALL SLOW_PATH static void note_listening(struct hd_wait_entry *id) {
    int saved = errno;
    id->objects.listens = 0;
    for (uint32_t i = 0; i < id->objects.fds && !id->objects.epoll; i++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        bool known = getsockopt(id->objects.fd[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
        id->objects.listens |= (uint16_t)((known && listens != 0) << i);
    }
    errno = saved;
}

INSIDE_A_CALL SLOW_PATH static void note_descriptors(struct hd_wait_entry *id,
                                                     const struct hd_wait_set *set) {
    id->objects.epoll = set->epoll >= 0;
    id->objects.epoll_generation = set->epoll_generation;
    id->objects.fds = 0;
    note(id, set->epoll);
    /* a count that is none is for the call itself to refuse */
    for (uint64_t i = 0; set->poll != NULL && i < set->n && i < FD_SETSIZE && id->objects.fds < HD_WAIT_FDS;
         i++) {
        note(id, set->poll[i].fd);
    }
    for (uint64_t fd = 0; set->poll == NULL && set->epoll < 0 && fd < set->n && fd < FD_SETSIZE; fd++) {
        for (unsigned s = 0; s < 3; s++) {
            if (set->select[s] != NULL && FD_ISSET(fd, set->select[s])) {
                note(id, (int)fd);
                break;
            }
        }
    }
}

INSIDE_A_CALL struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key,
                                                       const struct hd_wait_set *set, uint64_t sp) {
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        if (t->entry[i].key == key) {
            return &t->entry[i];
        }
    }
    begin_slow_path(t);
    struct hd_wait_entry *id = place_for(t);
    /* The worker reads a place whose `uses` it has seen before and after. Odd also when a handler has jumped
     * out of here. */
    uint32_t uses = atomic_load_explicit(&id->uses, memory_order_relaxed) | 1;
    atomic_store_explicit(&id->uses, uses, memory_order_seq_cst);
    atomic_store_explicit(&id->resolved, 0, memory_order_relaxed);
    atomic_store_explicit(&id->verdict, HD_WAIT_UNKNOWN, memory_order_relaxed);
    atomic_store_explicit(&id->waits, 0, memory_order_relaxed);
    atomic_store_explicit(&id->ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&id->order, 0, memory_order_relaxed);
    atomic_store_explicit(&id->first_began, 0, memory_order_relaxed);
    atomic_store_explicit(&id->ended, 0, memory_order_relaxed);
    atomic_store_explicit(&id->began, 0, memory_order_relaxed);
    note_descriptors(id, set);
    note_listening(id);
    id->sp = sp;
    id->key = key;
    atomic_store_explicit(&id->uses, uses + 1, memory_order_seq_cst); /* even: whole */
    end_slow_path(t);
    return id;
}

/* Stack bytes as they are, redzones of sanitizers included. */
__attribute__((no_sanitize("address", "thread"), noinline)) static void copy(uint8_t *to, uint64_t from,
                                                                             uint32_t bytes) {
    const volatile uint64_t *source = (const volatile uint64_t *)(uintptr_t)from;
    uint64_t *words = (uint64_t *)(void *)to;
    for (uint32_t i = 0; i < bytes / sizeof *words; i++) {
        words[i] = source[i];
    }
}

/* On a coroutine's stack, and the like. Of a thread whose stack libc did not note nobody knows. */
INSIDE_A_CALL static bool is_elsewhere(const struct hd_wait_table *t, uint64_t sp, uint64_t room) {
    const struct hd_watch *watch = t->watch; /* read once: the main thread may forget it meanwhile */
    const struct hd_mailbox *m = t->named && watch != NULL ? watch->mailbox : NULL;
    return t->named ? m != NULL && m->stack_end != 0 && (sp < m->stack_begin || sp >= m->stack_end)
                    : room > MAIN_STACK_MAX;
}

/* For the worker: an identity of unknown meaning waits again. */
INSIDE_A_CALL SLOW_PATH static void leave_stack(struct hd_wait_table *t, struct hd_wait_entry *id,
                                                bool blocks) {
    /* The newest wins: this wait may last, those before it are over. */
    begin_slow_path(t);
    struct hd_stack_copy *left = &t->left.stack[t->left.writing];
    hd_own_regs(&left->regs);
    uint64_t room = t->stack_top > left->regs.sp ? t->stack_top - left->regs.sp : 0;
    left->bytes = (uint32_t)(room < HD_WAIT_STACK_BYTES ? room & ~7ULL : HD_WAIT_STACK_BYTES);
    left->elsewhere = is_elsewhere(t, left->regs.sp, room);
    if (t->named || left->elsewhere) { /* nobody knows where it ends */
        long n = hd_os.read_memory(hd_os.get_pid(), left->regs.sp, left->stack, HD_WAIT_STACK_BYTES);
        left->bytes = n > 0 ? (uint32_t)n & ~7U : 0;
    } else {
        copy(left->stack, left->regs.sp, left->bytes);
    }
    left->objects = id->objects;
    left->blocks = blocks;
    left->sp = id->sp;
    left->entry = (uint32_t)(id - t->entry);
    left->uses = atomic_load_explicit(&id->uses, memory_order_relaxed);
    t->left.writing = atomic_exchange_explicit(&t->left.between, t->left.writing | HD_STACK_COPY_FRESH,
                                               memory_order_acq_rel) &
                      3;
    end_slow_path(t);
}

SLOW_PATH static void wake_monitor(struct hd_wait_table *t, uint64_t now) {
    struct hd_loop *loop = t->loop;
    uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
    if (hd_ticks_to_ns(now - t->woke_ticks, rate) >= WAKE_EVERY_TICKS_NS) {
        t->woke_ticks = now;
        hd_loop_answer(loop, HD_FLAG_PARKED, false, true, now);
    }
}

static uint64_t wait_key(uint64_t hash, const void *caller, const void *frame) {
    uint64_t key = (hash ^ (uint64_t)(uintptr_t)caller) * 0xff51afd7ed558ccdULL;
    key = (key ^ key >> 32 ^ (uint64_t)(uintptr_t)frame) * 0xc4ceb9fe1a85ec53ULL;
    return key | 1;
}

INSIDE_A_CALL void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_set *set, bool blocks,
                                 const void *caller, const void *frame) {
    struct hd_wait_table *t = hd_wait_table_self;
    struct hd_watch *watch = t != NULL ? t->watch : NULL;
    if (__builtin_expect(watch == NULL, 0)) {
        t = t != NULL ? hd_wait_hooks.first_wait() : NULL;
        watch = t != NULL ? t->watch : NULL;
    }
    if (watch == NULL || atomic_load_explicit(&t->slow_path, memory_order_relaxed)) {
        w->waits = NULL;
        return;
    }
    uint64_t key = wait_key(set->hash, caller, frame);
    struct hd_wait_entry *id = t->last;
    if (id == NULL || id->key != key) {
        id = hd_wait_table_find(t, key, set, (uint64_t)(uintptr_t)frame);
        t->last = id;
        t->last_caller = caller;
        t->last_frame = frame;
        t->last_hash = set->hash;
    }
    uint8_t verdict = atomic_load_explicit(&id->verdict, memory_order_acquire);
    w->waits = t;
    w->entry = id;
    w->blocks = blocks;
    w->idle = verdict == HD_WAIT_IDLE;
    if (verdict == HD_WAIT_UNKNOWN && atomic_load_explicit(&id->resolved, memory_order_relaxed) == 0) {
        leave_stack(t, id, blocks);
    }
    if (!blocks) {
        return;
    }
    struct hd_loop *loop = &watch->loop;
    if (w->idle) {
        w->began = hd_loop_mark(loop, HANGDOG_BEFORE_WAITING);
        return;
    }
    w->began = hd_loop_ticks(loop);
    atomic_store_explicit(&loop->waiting_since, w->began, memory_order_relaxed);
    atomic_store_explicit(&loop->waiting, &id->verdict, memory_order_release);
}

/* A wait is over that was not known to be idle when it began, and is now or is not. */
INSIDE_A_CALL static uint64_t wait_over(struct hd_wait_table *t, uint64_t began, bool idle) {
    struct hd_loop *loop = t->loop;
    atomic_store_explicit(&loop->waiting, NULL, memory_order_release);
    uint64_t now = idle ? hd_loop_waited(loop, began) : hd_loop_ticks(loop);
    if ((atomic_load_explicit(&loop->flags, memory_order_relaxed) & HD_FLAG_PARKED) != 0) {
        wake_monitor(t, now);
    }
    return now;
}

INSIDE_A_CALL void hd_wait_end(struct hd_waiting *w) {
    struct hd_wait_table *t = w->waits;
    struct hd_watch *watch = t != NULL ? t->watch : NULL;
    if (watch == NULL) {
        return; /* a forked child: wiped while it waited */
    }
    struct hd_wait_entry *id = w->entry;
    struct hd_loop *loop = &watch->loop;
    uint64_t now;
    if (!w->blocks) {
        if (w->idle) {
            hd_loop_mark(loop, HANGDOG_AFTER_WAITING); /* one turn ends, the next starts */
        }
        return;
    }
    if (w->idle) {
        now = hd_loop_mark(loop, HANGDOG_AFTER_WAITING);
    } else {
        /* first its end, then the verdict: whoever gives that reads the end afterwards */
        atomic_store_explicit(&id->began, w->began, memory_order_release);
        atomic_exchange_explicit(&id->ended, hd_loop_ticks(loop), memory_order_seq_cst);
        uint8_t verdict = atomic_load_explicit(&id->verdict, memory_order_seq_cst);
        now = wait_over(t, w->began, verdict == HD_WAIT_IDLE);
    }
    if (atomic_load_explicit(&id->first_began, memory_order_relaxed) == 0) {
        atomic_store_explicit(&id->first_began, w->began, memory_order_relaxed);
    }
    hd_wait_sum(t, id, w->began, now);
}

INSIDE_A_CALL SLOW_PATH void hd_wait_left(struct hd_wait_table *t) {
    end_slow_path(t); /* out of that too */
    if (t->watch == NULL) {
        return;
    }
    struct hd_loop *loop = t->loop;
    const _Atomic uint8_t *waiting = atomic_load_explicit(&loop->waiting, memory_order_relaxed);
    if (waiting != NULL) {
        bool idle = atomic_load_explicit(waiting, memory_order_acquire) == HD_WAIT_IDLE;
        wait_over(t, atomic_load_explicit(&loop->waiting_since, memory_order_relaxed), idle);
    } else if (hd_activity_is_idle(
                   hd_loop_activity(loop, atomic_load_explicit(&loop->word, memory_order_relaxed)))) {
        hd_loop_mark(loop, HANGDOG_AFTER_WAITING);
    }
}
