/* SPDX-License-Identifier: MIT
 *
 * Unwinds stacks, and adds the functions of Python and JavaScript to the frames. On the worker thread.
 */
#include "worker/stacks.h"

#include <string.h>

/* time between two searches for unloaded modules; one search takes about 50 us */
#define CHECK_MODULES_NS (1 * HD_NS_PER_S)

/* When a thread leaves the kernel, Linux may deliver a signal of the program before our signal. The handler
 * of the program's signal is then on the stack, but has not run yet. Drops that handler and its signal frame,
 * so that the innermost frame is the code that the program's signal interrupted. */
static void drop_handlers(struct hd_frame *f, struct hd_walk *walk) {
    while (walk->count > 2 && f[0].trust == HD_TRUST_CONTEXT && f[0].pc == f[0].start &&
           f[2].trust == HD_TRUST_SIGNAL) {
        walk->count -= 2;
        memmove(f, f + 2, walk->count * sizeof *f);
        f[0].trust = HD_TRUST_CONTEXT;
    }
}

void hd_stacks_unwind(struct hd_stacks *s, const struct hd_capture *c, struct hd_walk *walk) {
    if (c->way == HD_WAY_KERNEL || c->stack_bytes == 0) {
        *walk = (struct hd_walk){.stop = c->state == HD_RUN_GONE ? HD_STOP_EXITED
                                         : c->no_space           ? HD_STOP_NO_ROOM
                                                                 : HD_STOP_NO_ANSWER};
        return;
    }
    hd_unwind(s->unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, s->frames, HD_FRAMES_MAX,
              walk);
    walk->stop = hd_stacks_stop(walk, c);
    drop_handlers(s->frames, walk);
}

void hd_stacks_check_modules(struct hd_stacks *s, bool keep) {
    if (!hd_modules_still_valid(&s->modules, keep)) {
        hd_unwinder_flush(s->unwinder);
    }
    s->modules_checked_ns = hd_os_now_ns();
}

uint32_t hd_stacks_read(struct hd_stacks *s, hd_thread_id thread, const struct hd_capture *c,
                        struct hd_walk *walk) {
    if (hd_os_now_ns() - s->modules_checked_ns >= CHECK_MODULES_NS) {
        hd_stacks_check_modules(s, true);
    }
    hd_stacks_unwind(s, c, walk);
    const struct hd_script_stack stack = {.tid = hd_stacks_own_tid(s, thread),
                                          .cut_at = walk->cut != 0 ? HD_FRAMES_MAX / 2 : 0,
                                          .bytes = c->stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    uint32_t count =
        hd_scripts_expand(&s->scripts, s->frames, walk->count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX, &stack);
    bool moved = count != walk->count && hd_capture_has_moved(thread, c);
    return moved ? hd_scripts_drop_changed(&s->scripts, s->frames, count) : count;
}
