/* SPDX-License-Identifier: MIT
 *
 * What the live tests of the unwinder share: a capture of a thread of this process with all its registers,
 * the frames that libunwind gives for it, and our walker over the same bytes.
 */
#ifndef UNWIND_LIVE_H
#define UNWIND_LIVE_H

#include <pthread.h>
#include <ucontext.h>

#include "base/types.h"
#include "unwind/unwind.h"

#define UNWIND_FRAMES 512
#define UNWIND_STACK_BYTES (512u * 1024u)

struct unwind_capture {
    struct hd_regs regs;
    uint64_t stack_addr;
    uint32_t stack_bytes;
    uint32_t peer_count; /* frames by libunwind, innermost first */
    uint64_t peer[UNWIND_FRAMES];
    uint8_t stack[UNWIND_STACK_BYTES];
};

/* Fills *c from a point in the calling function. */
#define unwind_capture_here(c)                            \
    do {                                                  \
        ucontext_t unwind_context_;                       \
        getcontext(&unwind_context_);                     \
        unwind_capture_context((c), &unwind_context_, 0); \
    } while (0)

/* Fills *c from a ucontext_t on the calling thread's stack or in a handler on it; `signal` in the second
 * case. */
void unwind_capture_context(struct unwind_capture *c, void *ucontext, int signal);

/* Interrupts a thread of this process with SIGUSR1 and captures it there. */
void unwind_capture_thread(struct unwind_capture *c, pthread_t thread);

/* Waits until the thread is blocked in a system call (or a minute is over: 0). */
int unwind_wait_blocked(int tid);

/* An unwinder of this process, made at the first call. */
struct hd_unwinder *unwind_unwinder(void);
struct hd_modules *unwind_modules(void);

/* Walks the capture; `sp_and_pc_only` forgets the other registers. */
void unwind_walk(const struct unwind_capture *c, bool sp_and_pc_only, uint64_t known_root,
                 struct hd_frame *frames, uint32_t max, struct hd_walk *out);

/* Fails the test, with both stacks printed, unless our frames have the addresses of libunwind's and end at a
 * root. */
void unwind_assert_same(const struct unwind_capture *c, const struct hd_frame *frames,
                        const struct hd_walk *walk);

#endif
