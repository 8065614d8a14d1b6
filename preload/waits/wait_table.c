/* SPDX-License-Identifier: MIT */
#include "preload/waits/wait_table.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "capture/mailbox.h"
#include "unwind/arch/caller_registers.h"

/* The kernel maps nothing but the stack within 128 MiB below the top of the main thread's stack (mmap_base).
 * So an address less than MAIN_STACK_MAX below the top is in this stack. */
#define MAIN_STACK_MAX (64ULL << 20)
#define WAKE_EVERY_TICKS_NS (100 * HD_NS_PER_MS)

/* For code that the thread sanitizer calls from its interceptor of a blocking call. There the sanitizer
 * ignores atomics, so without this attribute it would report each hand-over to the worker as a race. */
#define INSIDE_A_CALL __attribute__((no_sanitize("thread")))

/* For functions that rarely run. The compiler makes their code small rather than fast, since each watched
 * process loads this code. */
#define SLOW_PATH __attribute__((noinline, cold))

struct hd_wait_hooks hd_wait_hooks;
_Thread_local struct hd_wait_table *hd_wait_table_self;

/* The thread changes its wait table between begin_slow_path and end_slow_path. If a signal handler of the
 * program interrupts the thread there and waits, Hangdog does not count the handler's wait. */
INSIDE_A_CALL static void begin_slow_path(struct hd_wait_table *t) {
    atomic_store_explicit(&t->slow_path, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

INSIDE_A_CALL static void end_slow_path(struct hd_wait_table *t) {
    atomic_store_explicit(&t->slow_path, false, memory_order_release);
}

/* Returns a free entry of the table. If no entry is free, returns the entry whose last wait is the oldest. An
 * entry whose waits are the loop's own is returned only if this is true of all entries. */
INSIDE_A_CALL SLOW_PATH static struct hd_wait_entry *slot_for(struct hd_wait_table *t) {
    struct hd_wait_entry *oldest = NULL;
    bool oldest_idle = false;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        struct hd_wait_entry *entry = &t->entry[i];
        if (entry->key == 0) {
            return entry;
        }
        bool idle = atomic_load_explicit(&entry->verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        bool older = oldest == NULL || atomic_load_explicit(&entry->sums.order, memory_order_relaxed) <
                                           atomic_load_explicit(&oldest->sums.order, memory_order_relaxed);
        if (oldest == NULL || (idle == oldest_idle ? older : oldest_idle)) {
            oldest = entry;
            oldest_idle = idle;
        }
    }
    return oldest;
}

INSIDE_A_CALL static void store_descriptor(struct hd_wait_entry *entry, int fd) {
    if (fd >= 0 && entry->descriptors.fds < HD_WAIT_FDS) {
        entry->descriptors.fd[entry->descriptors.fds++] = fd;
    }
}

/* Finds out which of the wait's descriptors are listening sockets. The watched thread does this because the
 * worker cannot: the worker's private descriptor table lacks these descriptors. The worker could ask the
 * kernel for copies of them, but a seccomp filter may forbid that. */
INSIDE_A_CALL SLOW_PATH static void store_listening(struct hd_wait_entry *entry) {
    int saved = errno;
    entry->descriptors.listens = 0;
    for (uint32_t i = 0; i < entry->descriptors.fds && !entry->descriptors.epoll; i++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        bool known = getsockopt(entry->descriptors.fd[i], SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
        entry->descriptors.listens |= (uint16_t)((known && listens != 0) << i);
    }
    errno = saved;
}

/* True: `fd` is a connection to the socket that the thread last accepted one from. After the server has
 * closed the connection, its number may be that of another socket. */
INSIDE_A_CALL SLOW_PATH static bool is_from_client(int fd, int listener) {
    struct sockaddr_storage own = {0}, server = {0};
    socklen_t own_bytes = sizeof own, server_bytes = sizeof server;
    int saved = errno;
    bool known = getsockname(fd, (struct sockaddr *)&own, &own_bytes) == 0 &&
                 getsockname(listener, (struct sockaddr *)&server, &server_bytes) == 0;
    errno = saved;
    /* family and port come first; the listener may have no address of its own */
    bool internet = own.ss_family == AF_INET || own.ss_family == AF_INET6;
    return known && own_bytes == server_bytes && memcmp(&own, &server, internet ? 4 : own_bytes) == 0;
}

INSIDE_A_CALL SLOW_PATH static void store_descriptors(struct hd_wait_entry *entry,
                                                      const struct hd_wait_call *call) {
    entry->descriptors.epoll = call->epoll >= 0;
    entry->descriptors.epoll_generation = call->epoll_generation;
    entry->descriptors.fds = 0;
    store_descriptor(entry, call->epoll);
    /* call->n comes from the program, and may be larger than the kernel allows; the kernel then refuses the
     * wait. So this code reads at most FD_SETSIZE elements of call->poll. */
    for (uint64_t i = 0;
         call->poll != NULL && i < call->n && i < FD_SETSIZE && entry->descriptors.fds < HD_WAIT_FDS; i++) {
        store_descriptor(entry, call->poll[i].fd);
    }
    for (uint64_t fd = 0; call->poll == NULL && call->epoll < 0 && fd < call->n && fd < FD_SETSIZE; fd++) {
        for (unsigned s = 0; s < 3; s++) {
            if (call->select[s] != NULL && FD_ISSET(fd, call->select[s])) {
                store_descriptor(entry, (int)fd);
                break;
            }
        }
    }
}

INSIDE_A_CALL struct hd_wait_entry *hd_wait_table_find(struct hd_wait_table *t, uint64_t key,
                                                       const struct hd_wait_call *call, uint64_t caller_sp) {
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        if (t->entry[i].key == key) {
            return &t->entry[i];
        }
    }
    begin_slow_path(t);
    struct hd_wait_entry *entry = slot_for(t);
    /* The worker trusts an entry only if `uses` is even, and is unchanged after the worker has read the
     * entry. `uses` may be odd already, if a signal handler has jumped out of an earlier call of this
     * function. */
    uint32_t uses = atomic_load_explicit(&entry->uses, memory_order_relaxed) | 1;
    atomic_store_explicit(&entry->uses, uses, memory_order_seq_cst);
    atomic_store_explicit(&entry->resolved, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->verdict, HD_WAIT_UNKNOWN, memory_order_relaxed);
    atomic_store_explicit(&entry->sums.waits, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->sums.ticks, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->sums.order, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->sums.first_began, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->unknown.ended, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->unknown.began, 0, memory_order_relaxed);
    store_descriptors(entry, call);
    entry->descriptors.accepts = call->accepts;
    entry->descriptors.accepted = call->epoll < 0 && entry->descriptors.fds == 1 &&
                                  entry->descriptors.fd[0] + 1 == t->accepted &&
                                  is_from_client(entry->descriptors.fd[0], t->listener);
    store_listening(entry);
    entry->caller_sp = caller_sp;
    entry->key = key;
    atomic_store_explicit(&entry->uses, uses + 1, memory_order_seq_cst); /* even: complete */
    end_slow_path(t);
    return entry;
}

/* Copies bytes of a stack. A sanitizer would report the reads of some bytes as errors, so the sanitizers are
 * switched off for this function. */
__attribute__((no_sanitize("address", "thread"), noinline)) static void copy(uint8_t *to, uint64_t from,
                                                                             uint32_t bytes) {
    const volatile uint64_t *source = (const volatile uint64_t *)(uintptr_t)from;
    uint64_t *words = (uint64_t *)(void *)to;
    for (uint32_t i = 0; i < bytes / sizeof *words; i++) {
        words[i] = source[i];
    }
}

/* True if `sp` is outside of the thread's own stack. False if `sp` is on this stack, or if libc does not know
 * where this stack is. `below_top`: the number of bytes from `sp` to the top of the main thread's stack. */
INSIDE_A_CALL static bool is_coroutine(const struct hd_wait_table *t, uint64_t sp, uint64_t below_top) {
    /* The code reads t->watch only once, because another thread may set t->watch to NULL at any time. */
    const struct hd_watch *watch = t->watch;
    const struct hd_mailbox *m = t->named && watch != NULL ? watch->mailbox : NULL;
    return t->named ? m != NULL && m->stack_end != 0 && (sp < m->stack_begin || sp >= m->stack_end)
                    : below_top > MAIN_STACK_MAX;
}

/* Copies the thread's stack. The worker unwinds the copy to find the code that makes the waits with this key.
 * The new copy replaces an older one that the worker has not read. The older copy's wait is over, while the
 * present wait may last long. */
INSIDE_A_CALL SLOW_PATH static void copy_stack(struct hd_wait_table *t, struct hd_wait_entry *entry,
                                               bool blocks) {
    begin_slow_path(t);
    struct hd_stack_copies *copies = &t->copies;
    struct hd_stack_copy *c = &copies->stack[copies->writing];
    hd_own_regs(&c->regs);
    uint64_t below_top = t->stack_top > c->regs.sp ? t->stack_top - c->regs.sp : 0;
    c->bytes = (uint32_t)(below_top < HD_WAIT_STACK_BYTES ? below_top & ~7ULL : HD_WAIT_STACK_BYTES);
    c->coroutine = is_coroutine(t, c->regs.sp, below_top);
    /* The top of a named thread's or a coroutine's stack is not known. So the kernel makes the copy: it stops
     * at the first byte that is not mapped, where a direct copy would fault. */
    if (t->named || c->coroutine) {
        long n = hd_os.read_memory(hd_os.get_pid(), c->regs.sp, c->stack, HD_WAIT_STACK_BYTES);
        c->bytes = n > 0 ? (uint32_t)n & ~7U : 0;
    } else {
        copy(c->stack, c->regs.sp, c->bytes);
    }
    c->descriptors = entry->descriptors;
    c->blocks = blocks;
    c->caller_sp = entry->caller_sp;
    c->entry = (uint32_t)(entry - t->entry);
    c->uses = atomic_load_explicit(&entry->uses, memory_order_relaxed);
    copies->writing = atomic_exchange_explicit(&copies->between, copies->writing | HD_STACK_COPY_FRESH,
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

INSIDE_A_CALL bool hd_wait_was_idle(const struct hd_wait_table *t, uint64_t hash, const void *caller,
                                    const void *frame) {
    uint64_t key = wait_key(hash, caller, frame);
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        if (t->entry[i].key == key) {
            return atomic_load_explicit(&t->entry[i].verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        }
    }
    return false;
}

INSIDE_A_CALL void hd_wait_begin(struct hd_waiting *w, const struct hd_wait_call *call, bool blocks,
                                 const void *caller, const void *frame) {
    struct hd_wait_table *t = hd_wait_table_self;
    struct hd_watch *watch = t != NULL ? t->watch : NULL;
    if (__builtin_expect(watch == NULL, 0)) {
        t = t != NULL ? hd_wait_hooks.first_wait() : NULL;
        watch = t != NULL ? t->watch : NULL;
    }
    w->inner = false;
    if (watch == NULL || atomic_load_explicit(&t->slow_path, memory_order_relaxed)) {
        w->waits = NULL;
        if (watch != NULL && blocks && t->library != NULL && t->library->idle) {
            w->waits = t;
            w->inner = true;
            hd_loop_mark(&watch->loop, HANGDOG_BEFORE_WAITING);
        }
        return;
    }
    uint64_t key = wait_key(call->hash, caller, frame);
    struct hd_wait_entry *entry = t->last.entry;
    if (entry == NULL || entry->key != key) {
        entry = hd_wait_table_find(t, key, call, (uint64_t)(uintptr_t)frame);
        t->last.entry = entry;
        t->last.caller = caller;
        t->last.frame = frame;
        t->last.hash = call->hash;
    }
    uint8_t verdict = atomic_load_explicit(&entry->verdict, memory_order_acquire);
    w->waits = t;
    w->entry = entry;
    w->blocks = blocks;
    w->idle = verdict == HD_WAIT_IDLE;
    if (verdict == HD_WAIT_UNKNOWN && atomic_load_explicit(&entry->resolved, memory_order_relaxed) == 0) {
        copy_stack(t, entry, blocks);
    }
    if (!blocks) {
        return;
    }
    struct hd_loop *loop = &watch->loop;
    w->began = w->idle ? hd_loop_mark(loop, HANGDOG_BEFORE_WAITING) : hd_loop_ticks(loop);
    /* stored before the wait ends: the first wait of an idle server lasts until its first request, and the
     * launch ended when that wait began */
    if (atomic_load_explicit(&entry->sums.first_began, memory_order_relaxed) == 0) {
        atomic_store_explicit(&entry->sums.first_began, w->began, memory_order_relaxed);
    }
    if (!w->idle) {
        atomic_store_explicit(&loop->waiting_since, w->began, memory_order_relaxed);
        atomic_store_explicit(&loop->waiting, &entry->verdict, memory_order_release);
    }
}

/* Ends a wait that was not known as the loop's own when it began. `idle`: the wait is known as the loop's own
 * now. Returns the time of the wait's end in ticks. */
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
        /* There is no watch in three cases. Hangdog does not count the wait, the watch has ended, or the
         * process is a forked child, whose table the kernel wiped during the wait. */
        return;
    }
    struct hd_wait_entry *entry = w->entry;
    struct hd_loop *loop = &watch->loop;
    uint64_t now;
    if (w->inner) {
        /* From here the library handles events, in a turn: it may call an event filter of the program. */
        hd_loop_mark(loop, HANGDOG_AFTER_WAITING);
        return;
    }
    if (!w->blocks) {
        if (w->idle) {
            /* the loop's wait had a zero timeout: one turn ends here, and the next starts */
            hd_loop_mark(loop, HANGDOG_AFTER_WAITING);
        }
        return;
    }
    if (w->idle) {
        now = hd_loop_mark(loop, HANGDOG_AFTER_WAITING);
    } else {
        /* The thread stores the wait's end first, and then reads the verdict on this wait. The worker writes
         * the verdict first, and then reads the wait's end. So at least one of the two sees the other's
         * value. */
        atomic_store_explicit(&entry->unknown.began, w->began, memory_order_release);
        atomic_exchange_explicit(&entry->unknown.ended, hd_loop_ticks(loop), memory_order_seq_cst);
        uint8_t verdict = atomic_load_explicit(&entry->verdict, memory_order_seq_cst);
        now = wait_over(t, w->began, verdict == HD_WAIT_IDLE);
    }
    hd_wait_sum(t, entry, w->began, now);
}

INSIDE_A_CALL SLOW_PATH void hd_wait_jumped(struct hd_wait_table *t) {
    t->library = NULL;
    end_slow_path(t); /* the jump may have left a function that was changing the table */
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
