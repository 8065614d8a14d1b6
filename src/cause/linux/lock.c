/* SPDX-License-Identifier: MIT */
#include "cause/linux/lock.h"

#include "os/linux/proc_files.h"
#include "os/os.h"

#define INNERMOST 6 /* the number of innermost stack frames that are searched for a lock function */

/* clang-format off */
#define LOCKS(X) \
    X("pthread_mutex_lock", HD_LOCK_MUTEX, true) \
    X("pthread_mutex_timedlock", HD_LOCK_MUTEX, true) \
    X("pthread_mutex_clocklock", HD_LOCK_MUTEX, true) \
    X("pthread_rwlock_rdlock", HD_LOCK_READ, true) \
    X("pthread_rwlock_timedrdlock", HD_LOCK_READ, true) \
    X("pthread_rwlock_clockrdlock", HD_LOCK_READ, true) \
    X("pthread_rwlock_wrlock", HD_LOCK_WRITE, true) \
    X("pthread_rwlock_timedwrlock", HD_LOCK_WRITE, true) \
    X("pthread_rwlock_clockwrlock", HD_LOCK_WRITE, true) \
    X("pthread_cond_wait", HD_LOCK_CONDITION, true) \
    X("pthread_cond_timedwait", HD_LOCK_CONDITION, true) \
    X("pthread_cond_clockwait", HD_LOCK_CONDITION, true) \
    X("sem_wait", HD_LOCK_SEMAPHORE, true) \
    X("sem_timedwait", HD_LOCK_SEMAPHORE, true) \
    X("sem_clockwait", HD_LOCK_SEMAPHORE, true) \
    X("pthread_barrier_wait", HD_LOCK_BARRIER, true) \
    X("PyThread_acquire_lock_timed", HD_LOCK_PYTHON, false) \
    X("g_cond_wait", HD_LOCK_CONDITION, false) \
    X("g_cond_wait_until", HD_LOCK_CONDITION, false)
/* clang-format on */

#define SYMBOL(symbol, kind, glibc) symbol "\0"
#define KIND(symbol, kind, glibc) {kind, glibc},
static const char symbols[] = LOCKS(SYMBOL);
static const struct {
    uint8_t kind;
    bool glibc; /* true: only a function in libc counts, because a program may have a function of that name */
} functions[] = {LOCKS(KIND)};

/* True: `start` is the function in which sem_wait and its variants wait for a count above 0. That function
 * has no exported name, so it is recognised by its place in memory, directly before its caller. */
static bool is_before_semaphore(const struct hd_probe_context *ctx, uint64_t start) {
    enum {
        CODE_BYTES = 512
    };
    for (uint32_t i = 0; i < ctx->locks.count; i++) {
        uint64_t at = ctx->locks.found[i].start;
        if (functions[ctx->locks.found[i].name].kind == HD_LOCK_SEMAPHORE && start < at &&
            at - start < CODE_BYTES) {
            return true;
        }
    }
    return false;
}

/* True: the thread waits for GLib's mutex. g_mutex_lock jumps to a function without an exported name. So the
 * function's module and the futex's value have to identify the mutex. */
static bool is_glib_mutex(struct hd_probe_context *ctx, const struct hd_capture *c,
                          const struct hd_frame *frames, uint32_t count) {
    enum {
        GLIB_CONTENDED = 2
    };
    int module = count > 1 ? hd_modules_at(ctx->modules, frames[1].start) : -1;
    return module >= 0 && c->syscall_args[2] == GLIB_CONTENDED &&
           hd_module_symbol(ctx->modules, (uint32_t)module, "g_mutex_lock") != 0;
}

/* Returns the kind of lock by the functions on the stack. If one function in LOCKS calls another, the
 * outermost one counts, because a library builds its locks on libc's. No function in LOCKS calls back into
 * the program, so all such functions on the stack are about one lock. */
static enum hd_lock_kind kind_of(struct hd_probe_context *ctx, const struct hd_capture *c,
                                 const struct hd_frame *frames, uint32_t count) {
    enum hd_lock_kind kind = HD_LOCK_UNKNOWN;
    int libc = count != 0 ? hd_modules_at(ctx->modules, ctx->in_libc) : -1;
    for (uint32_t i = 0; i < count && i < INNERMOST; i++) {
        uint64_t start = frames[i].start;
        int at = hd_functions_at(&ctx->locks, ctx->modules, symbols, start);
        bool in_libc = libc >= 0 && hd_modules_at(ctx->modules, start) == libc;
        if (at >= 0 && (in_libc || !functions[at].glibc)) {
            kind = (enum hd_lock_kind)functions[at].kind;
        } else if (i == 1 && in_libc && c->syscall_args[2] == 0 && is_before_semaphore(ctx, start)) {
            kind = HD_LOCK_SEMAPHORE;
        }
    }
    return kind == HD_LOCK_UNKNOWN && is_glib_mutex(ctx, c, frames, count) ? HD_LOCK_GLIB_MUTEX : kind;
}

static bool thread_lives(const struct hd_probe_context *ctx, uint32_t tid) {
    char text[64];
    return hd_proc_read_task(ctx->proc_fd, (int)tid, "comm", text, sizeof text) > 0;
}

/* Returns the id of the thread that has the lock, from the words that follow the futex in memory; 0: none or
 * unknown. The layout is that of glibc's pthread_mutex_t (nptl/lowlevellock.h) and pthread_rwlock_t
 * (struct_rwlock.h). A writer waits at another word of a read-write lock than a reader, so the owner is at
 * another distance from the futex. */
static uint32_t owner_word(enum hd_lock_kind kind, const struct hd_capture *c) {
    enum {
        FUTEX_CONTENDED = 2,
        WRITER_PRESENT = 1,
        MUTEX_OWNER = 2,
        OWNER_OF_WRITERS = 3,
        OWNER_OF_PHASE = 4
    };
    const uint32_t *word = c->futex_words;
    if (!c->futex_read) {
        return 0;
    }
    if (kind == HD_LOCK_MUTEX) {
        return word[0] == FUTEX_CONTENDED ? word[MUTEX_OWNER] : 0;
    }
    if ((c->syscall_args[2] & WRITER_PRESENT) == 0 || word[0] != (uint32_t)c->syscall_args[2]) {
        /* no known owner: a writer waits for readers, or the lock has changed since the call began */
        return 0;
    }
    return word[kind == HD_LOCK_READ ? OWNER_OF_PHASE : OWNER_OF_WRITERS];
}

static bool is_ownable(enum hd_lock_kind kind) {
    return kind == HD_LOCK_MUTEX || kind == HD_LOCK_READ || kind == HD_LOCK_WRITE;
}

int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool was_owned) {
    uint32_t owner = is_ownable(kind) ? owner_word(kind, c) : 0;
    if (owner != 0 && ctx->thread_called != NULL) {
        owner = (uint32_t)ctx->thread_called(ctx->thread_arg, (int)owner);
    }
    return owner != 0 && (was_owned || thread_lives(ctx, owner)) ? (int)owner : 0;
}

/* Returns the number of readers that a writer waits for; 0: none, or unknown. Only the next writer waits for
 * readers; all other writers wait for a writer. glibc stores the number of the readers, but not their ids. */
static uint32_t readers_of(const struct hd_probe_context *ctx, const struct hd_capture *c) {
    enum {
        USED = 2,
        READER_SHIFT = 3,
        PHASE_FROM_READERS = 8
    }; /* glibc's pthread_rwlock_common.c */
    uint32_t readers = 0;
    uint64_t at = c->syscall_args[0] - PHASE_FROM_READERS;
    bool waits = (uint32_t)c->syscall_args[2] == USED &&
                 hd_os.pread(ctx->mem_fd, &readers, sizeof readers, at) == (long)sizeof readers;
    return waits ? readers >> READER_SHIFT : 0;
}

void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_lock_seen *out) {
    enum hd_lock_kind kind = kind_of(ctx, c, frames, count);
    out->kind = (uint8_t)kind;
    out->ownable = is_ownable(kind);
    out->owner = hd_thread_id_of(hd_lock_owner_now(ctx, c, kind, false));
    out->owned = !hd_thread_id_is_none(out->owner);
    out->readers = kind == HD_LOCK_WRITE && !out->owned ? readers_of(ctx, c) : 0;
}

int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count) {
    return c->futex_read ? hd_lock_owner_now(ctx, c, kind_of(ctx, c, frames, count), false) : 0;
}
