/* SPDX-License-Identifier: MIT
 * The interposed jumps. A signal handler may leave the interrupted wait by siglongjmp, and the turn then
 * starts. A handler that jumps only within itself loses nothing, since none of these waits continues after a
 * handler. Watched thread: wait-free. Any other thread reads one thread-local variable.
 */
#include <setjmp.h>
#include <ucontext.h>

#include "preload/interpose/real.h"
#include "preload/waits/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

typedef void jump(struct __jmp_buf_tag *, int);

static jump *real[4];
static int (*real_setcontext)(const ucontext_t *);

/* Called before any handler can jump: a handler must not take the loader's lock. */
void hd_jump_resolve(void) {
    _Static_assert(sizeof real == 4 * sizeof(void *), "a name for each");
    real_setcontext = (int (*)(const ucontext_t *))hd_interpose_look_up("setcontext");
    hd_interpose_look_up_all(real, "longjmp\0_longjmp\0siglongjmp\0__longjmp_chk\0");
}

#define JUMP(i, name)                                                         \
    EXPORT void name(struct __jmp_buf_tag[1], int) __attribute__((noreturn)); \
    EXPORT void name(struct __jmp_buf_tag to[1], int value) {                 \
        if (__builtin_expect(hd_wait_table_self != NULL, 0)) {                \
            hd_wait_jumped(hd_wait_table_self);                               \
        }                                                                     \
        if (real[i] == NULL) { /* called by an earlier constructor */         \
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
        hd_wait_jumped(hd_wait_table_self);
    }
    if (real_setcontext == NULL) {
        hd_jump_resolve();
    }
    return real_setcontext(to);
}
