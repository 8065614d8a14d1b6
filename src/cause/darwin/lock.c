/* SPDX-License-Identifier: MIT */
#include "cause/darwin/lock.h"

#include <string.h>

#include "base/text.h"
#include "os/darwin/mach.h"
#include "os/darwin/syscall_number.h"

#define PORT_FLAGS 3u            /* a port's name has these bits set; a lock's word has flags there */
#define TID_SWITCHING UINT64_MAX /* a mutex passes from one thread to another */
#define TID_OFFSET 24u        /* of the owner's id in a mutex and in a read-write lock, if that is aligned */
#define DESCRIPTOR_BYTES 224u /* of struct pthread_s before its thread-specific data */

/* The low byte of the first argument of ulock_wait. */
enum {
    ULOCK_MASK = 0xff,
    ULOCK_UNFAIR = 2,
};

/* ---- the kind --------------------------------------------------------------------------------------- */

/* True: the function that made the call is in the library `name`. Frame 0 is the call's stub. */
static bool is_called_by(struct hd_probe_context *ctx, const struct hd_frame *frames, uint32_t count,
                         const char *name) {
    char file[48];
    int module = count > 1 ? hd_modules_at(ctx->modules, hd_frame_lookup_pc(&frames[1])) : -1;
    if (module < 0) {
        return false;
    }
    hd_text_base_name(file, sizeof file, hd_module_path(ctx->modules, (uint32_t)module));
    return strcmp(file, name) == 0;
}

static enum hd_lock_kind kind_of_ulock(struct hd_probe_context *ctx, bool unfair,
                                       const struct hd_frame *frames, uint32_t count) {
    if (is_called_by(ctx, frames, count, "libsystem_pthread.dylib")) {
        return unfair ? HD_LOCK_MUTEX : HD_LOCK_CONDITION;
    }
    if (unfair) {
        return HD_LOCK_UNFAIR;
    }
    return is_called_by(ctx, frames, count, "libdispatch.dylib") ? HD_LOCK_DISPATCH : HD_LOCK_UNKNOWN;
}

static bool is_ulock(int32_t nr) {
    return nr == HD_DARWIN_ULOCK_WAIT || nr == HD_DARWIN_ULOCK_WAIT2;
}

static bool is_unfair(int32_t nr, const struct hd_capture *c) {
    return is_ulock(nr) && (c->syscall_args[0] & ULOCK_MASK) == ULOCK_UNFAIR;
}

static enum hd_lock_kind kind_of(struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                                 const struct hd_frame *frames, uint32_t count) {
    switch (hd_syscall_cancellable(nr)) {
    case HD_DARWIN_PSYNCH_MUTEXWAIT:
        return HD_LOCK_MUTEX;
    case HD_DARWIN_PSYNCH_RW_RDLOCK:
        return HD_LOCK_READ;
    case HD_DARWIN_PSYNCH_RW_WRLOCK:
        return HD_LOCK_WRITE;
    case HD_DARWIN_PSYNCH_CVWAIT:
        return HD_LOCK_CONDITION;
    case HD_DARWIN_KEVENT_ID:
        return HD_LOCK_DISPATCH;
    case HD_DARWIN_ULOCK_WAIT:
    case HD_DARWIN_ULOCK_WAIT2:
        return kind_of_ulock(ctx, is_unfair(nr, c), frames, count);
    default:
        return HD_LOCK_SEMAPHORE;
    }
}

/* Returns the address of the lock; 0: a semaphore of Mach and a dispatch queue have none. */
static uint64_t address_of(int32_t nr, const struct hd_capture *c) {
    if (is_ulock(nr)) {
        return c->syscall_args[1];
    }
    return nr < 0 || nr == HD_DARWIN_KEVENT_ID ? 0 : c->syscall_args[0];
}

/* ---- the owner -------------------------------------------------------------------------------------- */

/* Finds the thread whose port is in the word of an unfair lock. False: the lock has no owner, or its owner
 * has ended. */
static bool read_port_owner(struct hd_probe_context *ctx, uint64_t address, struct hd_mach_thread *out) {
    uint32_t word;
    if (!hd_memory_read(&ctx->modules->memory, address, &word, sizeof word) || (word & ~PORT_FLAGS) == 0) {
        return false;
    }
    return hd_mach.thread(word | PORT_FLAGS, out) == 0;
}

/* Returns the id that a pthread mutex or a read-write lock at `address` stores as its owner. The id has 64
 * bits, so a lock that is not aligned to 8 bytes has it at the next address that is. */
static hd_thread_id read_id_owner(struct hd_probe_context *ctx, uint64_t address) {
    uint64_t id, at = (address + TID_OFFSET + 7u) & ~UINT64_C(7);
    bool known = hd_memory_read(&ctx->modules->memory, at, &id, sizeof id) && id != TID_SWITCHING;
    return known ? hd_thread_id_of(id) : HD_THREAD_ID_NONE;
}

/* True: the word at `address` is in the descriptor of thread `t`, so the waiting thread joins `t`. */
static bool is_join(const struct hd_mach_thread *t, uint64_t address) {
    return t->handle != 0 && t->handle - address <= DESCRIPTOR_BYTES;
}

static bool is_ownable(enum hd_lock_kind kind, bool unfair) {
    return unfair || kind == HD_LOCK_MUTEX || kind == HD_LOCK_READ || kind == HD_LOCK_WRITE;
}

void hd_lock_find_again(struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                        struct hd_lock_seen *seen) {
    struct hd_mach_thread owner;
    if (!seen->ownable) {
        return;
    }
    if (!is_unfair(nr, c)) {
        seen->owner = read_id_owner(ctx, seen->address);
    } else if (!read_port_owner(ctx, seen->address, &owner)) {
        seen->owner = HD_THREAD_ID_NONE;
    } else if (is_join(&owner, seen->address)) {
        seen->joined = hd_thread_id_of(owner.id);
        seen->kind = HD_LOCK_UNKNOWN;
    } else {
        seen->owner = hd_thread_id_of(owner.id);
    }
    seen->owned |= !hd_thread_id_is_none(seen->owner);
}

void hd_lock_find(struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                  const struct hd_frame *frames, uint32_t count, struct hd_lock_seen *out) {
    enum hd_lock_kind kind = kind_of(ctx, nr, c, frames, count);
    *out = (struct hd_lock_seen){
        .address = address_of(nr, c), .kind = (uint8_t)kind, .ownable = is_ownable(kind, is_unfair(nr, c))};
    hd_lock_find_again(ctx, nr, c, out);
}
