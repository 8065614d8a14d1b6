/* SPDX-License-Identifier: MIT */
#include "outside/linux/poll_kinds.h"

#include "os/syscall_table.h"
#include "outside/wait_calls.h"

static bool is_of(const struct hd_poll_kind *k, const struct hd_proc_syscall *call) {
    if (!k->used || k->pc != call->pc || k->sp != call->sp) {
        return false;
    }
    /* after a stop the call has another number, and its arguments are gone */
    return hd_syscall_is_restart(call->nr) ||
           (k->nr == call->nr && (!hd_wait_call_has_object(call->nr) || k->object == call->args[0]));
}

/* A kind without use, or the one of the oldest wait. Never the kind of the loop's own wait, if another is
 * there. */
static int32_t oldest(const struct hd_poll_kinds *k) {
    int32_t best = 0;
    for (int32_t i = 0; i < (int32_t)HD_HOOK_KINDS; i++) {
        const struct hd_poll_kind *a = &k->kind[i], *b = &k->kind[best];
        if (!a->used) {
            return i;
        }
        bool a_idle = a->verdict == HD_WAIT_IDLE, b_idle = b->verdict == HD_WAIT_IDLE;
        if (a_idle != b_idle ? b_idle : a->times.order < b->times.order) {
            best = i;
        }
    }
    return best;
}

int32_t hd_poll_kinds_find(struct hd_poll_kinds *k, const struct hd_proc_syscall *call, bool *is_new) {
    *is_new = false;
    for (int32_t i = 0; i < (int32_t)HD_HOOK_KINDS; i++) {
        if (is_of(&k->kind[i], call)) {
            return i;
        }
    }
    if (!hd_wait_call_is(call->nr, call->args)) {
        return HD_POLL_NO_KIND;
    }
    int32_t i = oldest(k);
    k->kind[i] = (struct hd_poll_kind){
        .nr = call->nr, .used = true, .pc = call->pc, .sp = call->sp, .object = call->args[0]};
    k->now = k->now == i ? HD_POLL_NO_KIND : k->now;
    *is_new = true;
    return i;
}

static void end_wait(struct hd_poll_kinds *k, uint64_t ended, uint64_t cpu_ns, uint64_t now_ns) {
    struct hd_wait_times *t = &k->kind[k->now].times;
    uint64_t waited_ns = now_ns - k->now_since_ns;
    t->waits += ended != 0 ? ended : 1;
    t->waited_ns += waited_ns > cpu_ns ? waited_ns - cpu_ns : 0;
    t->ended_ns = now_ns;
}

void hd_poll_kinds_look(struct hd_poll_kinds *k, int32_t kind, uint64_t ended, uint64_t cpu_ns,
                        uint64_t now_ns) {
    if (k->now == kind && ended == 0) {
        return;
    }
    if (k->now != HD_POLL_NO_KIND) {
        end_wait(k, ended, cpu_ns, now_ns);
    }
    k->now = kind;
    k->now_since_ns = now_ns;
    if (kind != HD_POLL_NO_KIND) {
        struct hd_wait_times *t = &k->kind[kind].times;
        t->first = t->first != 0 ? t->first : now_ns;
        t->order = ++k->orders;
    }
}
