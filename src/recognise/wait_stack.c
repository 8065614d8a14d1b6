/* SPDX-License-Identifier: MIT */
#include "recognise/wait_stack.h"

#include "base/hash.h"
#include "recognise/known_functions.h"

/* Returns the number of innermost frames that belong to the call of the wait function: frames of Hangdog's
 * wrapper or of libc. */
static uint32_t frames_of_call(const struct hd_wait_stack *s) {
    uint32_t n = 0;
    while (n + 1 < s->walk->count && s->copied_from + s->frames[n].at <= s->caller_sp) {
        n++;
    }
    return n;
}

static void read_call_site(const struct hd_wait_stack *s, bool whole, struct hd_call_site *at) {
    uint32_t count = s->walk->count;
    uint64_t hash = hd_hash(4, &s->copied_from, sizeof s->copied_from);
    for (uint32_t i = 1; i < count; i++) {
        hash = hd_hash(hash, &s->frames[i].pc, sizeof s->frames[i].pc);
    }
    at->stack_hash = count > 1 ? hash : 0;
    at->sp = s->caller_sp;
    at->depth = whole ? count + s->walk->cut - frames_of_call(s) : 0;
    if (s->coroutine) {
        at->stack_base = whole ? s->copied_from + s->frames[count - 1].at : HD_BASE_UNKNOWN;
    }
}

void hd_wait_stack_read(const struct hd_wait_stack *s, struct hd_modules *m, struct hd_functions *known,
                        struct hd_loop_option *option, struct hd_wait_seen *seen) {
    const struct hd_frame *frames = s->frames;
    uint32_t count = s->walk->count;
    bool whole = s->walk->stop == HD_STOP_ROOT;
    struct hd_stack_seen *stack = &seen->stack;
    read_call_site(s, whole, &seen->at);
    stack->names = (int8_t)hd_known_function(known, m, frames, count);
    bool encloses = hd_known_loop_encloses(known, m, frames, count);
    bool all = encloses || (whole && s->walk->cut == 0 && !s->coroutine);
    stack->enclosed = !all ? HD_ENCLOSED_UNKNOWN : encloses ? HD_ENCLOSED : HD_NOT_ENCLOSED;
    uint32_t caller = hd_loop_option_caller(m, frames, count);
    if (caller > 0 && caller < count) {
        stack->call_pc = hd_frame_lookup_pc(&frames[caller - 1]);
        stack->caller_pc = hd_frame_lookup_pc(&frames[caller]);
    }
    stack->by_option = hd_loop_option_is_set(option) && hd_loop_option_matches(option, m, frames, count);
}
