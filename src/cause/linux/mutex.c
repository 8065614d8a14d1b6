/* SPDX-License-Identifier: MIT */
#include "cause/linux/mutex.h"

#include "os/linux/proc_files.h"

void hd_mutex_init(struct hd_probe_context *ctx, uint64_t in_libc) {
    static const char *const names[] = {"pthread_mutex_lock", "pthread_mutex_timedlock",
                                        "pthread_mutex_clocklock"};
    int index = hd_modules_at(ctx->modules, in_libc);
    for (unsigned i = 0; index >= 0 && i < sizeof names / sizeof names[0]; i++) {
        ctx->mutex_lock[i] = hd_module_symbol(ctx->modules, (uint32_t)index, names[i]);
    }
}

static bool thread_lives(const struct hd_probe_context *ctx, uint32_t tid) {
    char text[64];
    return hd_proc_read_task(ctx->proc_fd, (int)tid, "comm", text, sizeof text) > 0;
}

bool hd_mutex_is_locking(const struct hd_probe_context *ctx, const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count && i < 2; i++) {
        for (unsigned n = 0; n < sizeof ctx->mutex_lock / sizeof ctx->mutex_lock[0]; n++) {
            if (ctx->mutex_lock[n] != 0 && frames[i].start == ctx->mutex_lock[n]) {
                return true;
            }
        }
    }
    return false;
}

int hd_mutex_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, bool is_one) {
    enum {
        FUTEX_CONTENDED = 2,
        OWNER_WORD = 2
    }; /* glibc's lll_lock and pthread_mutex_t (nptl/lowlevellock.h) */
    if (!c->futex_read || c->futex_words[0] != FUTEX_CONTENDED) {
        return 0;
    }
    uint32_t owner = c->futex_words[OWNER_WORD];
    if (owner != 0 && ctx->thread_called != NULL) {
        owner = (uint32_t)ctx->thread_called(ctx->thread_arg, (int)owner);
    }
    return owner != 0 && (is_one || thread_lives(ctx, owner)) ? (int)owner : 0;
}

int hd_mutex_owner(const struct hd_probe_context *ctx, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count) {
    return hd_mutex_is_locking(ctx, frames, count) ? hd_mutex_owner_now(ctx, c, false) : 0;
}
