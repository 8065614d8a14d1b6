/* SPDX-License-Identifier: MIT
 *
 * The interposed jumps. Watched thread: wait-free. A signal handler may leave the wait that it interrupted by
 * siglongjmp: what comes then is running. (None of these waits goes on after a handler, so a handler that
 * jumps within itself loses nothing.) Other threads take one look at a thread-local and go on.
 */
#include <setjmp.h>
#include <ucontext.h>

#include "preload/interpose/real.h"
#include "preload/waits/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

typedef void jump(struct __jmp_buf_tag *, int);

static jump *real[4];
static int (*real_setcontext)(const ucontext_t *);

/* Before any handler can jump: the loader's lock is none of a handler's business. */
void hd_jump_resolve(void) {
    _Static_assert(sizeof real == 4 * sizeof(void *), "a name for each");
    real_setcontext = (int (*)(const ucontext_t *))hd_interpose_look_up("setcontext");
    hd_interpose_look_up_all(real, "longjmp\0_longjmp\0siglongjmp\0__longjmp_chk\0");
}

#define JUMP(i, name)                                                         \
    EXPORT void name(struct __jmp_buf_tag[1], int) __attribute__((noreturn)); \
    EXPORT void name(struct __jmp_buf_tag to[1], int value) {                 \
        if (__builtin_expect(hd_wait_table_self != NULL, 0)) {                \
            hd_wait_left(hd_wait_table_self);                                 \
        }                                                                     \
        if (real[i] == NULL) { /* another constructor was first */            \
            hd_jump_resolve();                                                \
        }                                                                     \
        real[i](to, value);                                                   \
        __builtin_unreachable();                                              \
    }

JUMP(0, longjmp)
JUMP(1, _longjmp)
JUMP(2, siglongjmp)
JUMP(3, __longjmp_chk)

EXPORT int setcontext(const ucontext_t *to) {
    if (__builtin_expect(hd_wait_table_self != NULL, 0)) {
        hd_wait_left(hd_wait_table_self);
    }
    if (real_setcontext == NULL) {
        hd_jump_resolve();
    }
    return real_setcontext(to);
}
