/* SPDX-License-Identifier: MIT */
#include "cause/linux/join.h"

#include <pthread.h>
#include <string.h>

#include "os/os.h"

/* The number of bytes of a thread descriptor that are searched for the thread's id. glibc has the id at byte
 * 720. */
#define DESCRIPTOR_BYTES 1024u

void hd_join_init(struct hd_probe_context *ctx, int own_tid) {
    const uint64_t self = (uint64_t)pthread_self();
    const uint8_t *own = (const uint8_t *)self;
    uint64_t word;
    for (uint32_t at = 0; at < DESCRIPTOR_BYTES && !ctx->descriptor_known; at += sizeof word) {
        memcpy(&word, own + at, sizeof word);
        ctx->descriptor_link = at;
        ctx->descriptor_linked = word - self;
        ctx->descriptor_known = word - self < DESCRIPTOR_BYTES;
    }
    for (uint32_t at = 0; at < DESCRIPTOR_BYTES && ctx->descriptor_tid == 0; at += sizeof(int32_t)) {
        int32_t tid;
        memcpy(&tid, own + at, sizeof tid);
        ctx->descriptor_tid = tid == own_tid ? at : 0;
    }
}

int hd_join_target(const struct hd_probe_context *ctx, const struct hd_capture *c) {
    uint64_t base = c->syscall_args[0] - ctx->descriptor_tid, word;
    uint32_t tid = (uint32_t)c->syscall_args[2];
    if (!c->futex_read || c->futex_words[0] != tid || tid == 0 || ctx->descriptor_tid == 0 ||
        !ctx->descriptor_known ||
        hd_os.pread(ctx->mem_fd, &word, sizeof word, base + ctx->descriptor_link) != (long)sizeof word ||
        word != base + ctx->descriptor_linked) {
        return 0;
    }
    return ctx->thread_called != NULL ? ctx->thread_called(ctx->thread_arg, (int)tid) : (int)tid;
}
