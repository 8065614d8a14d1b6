/* SPDX-License-Identifier: MIT */
#include "outside/linux/bpf_hook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "os/linux/proc_text.h"
#include "os/os.h"
#include "outside/linux/bpf_events.h"
#include "outside/linux/bpf_state.h"
#include "waits.skel.h"

/* ---- open and close ----------------------------------------------------------------------------- */

static int open_ring(struct hd_hook *h) {
    struct waits *o = h->programs.object;
    int rc = hd_slots_open(&h->slots, h->programs.slots, bpf_map__fd(o->maps.slots),
                           bpf_map__fd(o->maps.tids), o->bss->watched);
    if (rc < 0) {
        return rc;
    }
    h->ring = ring_buffer__new(bpf_map__fd(o->maps.ring), hd_bpf_events_take, h, NULL);
    return h->ring != NULL ? 0 : -errno;
}

static void hook_close(struct hd_hook *h) {
    ring_buffer__free(h->ring);
    hd_slots_close(&h->slots);
    hd_programs_close(&h->programs);
    free(h);
}

static int hook_open(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns,
                     bool all_calls) {
    struct hd_hook *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return -ENOMEM;
    }
    h->events = *events;
    h->all_calls = all_calls;
    int rc = hd_programs_open(&h->programs, all_calls, long_ns);
    if (rc < 0) {
        free(h);
        return rc;
    }
    rc = open_ring(h);
    if (rc < 0) {
        hook_close(h);
        return rc;
    }
    *hook = h;
    return 0;
}

static int open_fentry(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    return hook_open(hook, events, long_ns, true);
}

static int open_switches(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    return hook_open(hook, events, long_ns, false);
}

/* ---- watch -------------------------------------------------------------------------------------- */

/* Reads the call in which the thread is blocked. -ESRCH: the thread has ended. */
static int read_call(pid_t pid, pid_t tid, struct hd_proc_syscall *call) {
    char path[64], text[HD_PROC_SYSCALL_BYTES];
    *call = (struct hd_proc_syscall){.where = HD_PROC_RUNNING, .nr = HD_SYSCALL_NONE};
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    int fd = hd_os_open(-1, path);
    long n = fd >= 0 ? hd_os.read(fd, text, sizeof text) : fd;
    hd_os_close(fd);
    if (n == -ENOENT || n == -ESRCH) {
        return -ESRCH;
    }
    if (n > 0) {
        (void)hd_proc_parse_syscall(text, (size_t)n, call);
    }
    return call->where == HD_PROC_ENDED ? -ESRCH : 0;
}

/* A thread may be in its wait already, and stay there for long. The hook makes the first kind itself. */
static void seed(struct hd_slot *s, struct hd_slot_owner *o, const struct hd_proc_syscall *call) {
    uint8_t class = hd_programs_call_class(call->nr);
    bool has_object = class == HD_CALL_EPOLL_MS || class == HD_CALL_EPOLL_AT || class == HD_CALL_URING;
    s->kind[0] = (struct hd_slot_kind){.pc = call->pc,
                                       .sp = call->sp,
                                       .first_ns = o->begun_ns,
                                       .order = 1,
                                       .nr = call->nr,
                                       .arg = has_object ? (uint32_t)call->args[0] : 0,
                                       .verdict = 1 << 2};
    s->order = 1;
    s->next = 1; /* the next kind does not take the place of this one */
    s->blocks = 1;
    s->seeded = 1;
    s->in = o->begun_ns << 5 | 1;
    memcpy(o->seed_args, call->args, sizeof o->seed_args);
    o->generation[0] = 1;
    o->seed_is_new = true;
    o->seeded = true;
}

static bool is_same_call(const struct hd_proc_syscall *a, const struct hd_proc_syscall *b) {
    return a->where == b->where && a->nr == b->nr && a->sp == b->sp && a->pc == b->pc;
}

static bool is_wait(const struct hd_proc_syscall *call) {
    uint8_t class = call->where == HD_PROC_BLOCKED ? hd_programs_call_class(call->nr) : HD_CALL_NO_WAIT;
    return class != HD_CALL_NO_WAIT && class != HD_CALL_RESTART &&
           (class != HD_CALL_URING || call->args[2] != 0);
}

/* Returns 0; -EAGAIN: the thread went into a wait before the programs knew the thread; or another error. */
static int try_watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    struct hd_proc_syscall call, after;
    int rc = read_call(pid, tid, &call);
    int slot = rc == 0 ? hd_slots_add(&h->slots, pid, tid) : rc;
    if (slot < 0) {
        return slot;
    }
    struct hd_slot *s = &h->slots.slot[slot];
    struct hd_slot_owner *o = &h->slots.owner[slot];
    o->begun_ns = hd_os_now_ns();
    if (is_wait(&call)) {
        seed(s, o, &call);
        h->new_seeds++;
        h->seeds++;
        rc = hd_programs_see_switches(&h->programs, true);
    } else if (call.where == HD_PROC_BLOCKED) {
        s->off_ns = o->begun_ns;
    }
    rc = rc == 0 ? hd_slots_publish(&h->slots, (uint32_t)slot) : rc;
    rc = rc == 0 ? read_call(pid, tid, &after) : rc;
    if (rc == 0 && o->seeded && !is_same_call(&call, &after)) {
        /* the thread may have left the wait before the programs knew the thread */
        __u64 seeded = o->begun_ns << 5 | 1;
        __atomic_compare_exchange_n(&s->in, &seeded, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    if (rc == 0 && !is_same_call(&call, &after)) {
        __u64 blocked = o->begun_ns;
        __atomic_compare_exchange_n(&s->off_ns, &blocked, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    if (rc == 0 && is_wait(&after) && __atomic_load_n(&s->in, __ATOMIC_SEQ_CST) == 0) {
        rc = -EAGAIN;
    }
    if (rc < 0) {
        hd_bpf_state_remove(h, (uint32_t)slot);
    }
    return rc;
}

static int hook_watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    int slot = hd_slots_find(&h->slots, tid);
    if (slot >= 0 && h->slots.slot[slot].ended_ns == 0) {
        return 0;
    }
    if (slot >= 0) {
        hd_bpf_events_ended(h, (uint32_t)slot); /* its number is in use again before the record has come */
    }
    int rc = -EAGAIN;
    for (unsigned i = 0; i < 10 && rc == -EAGAIN; i++) {
        rc = try_watch(h, pid, tid);
    }
    return rc;
}

/* ---- verdicts and values ------------------------------------------------------------------------ */

static bool is_idle(const struct hd_slot_kind *k) {
    return (__atomic_load_n(&k->verdict, __ATOMIC_ACQUIRE) & 3) == HD_WAIT_IDLE;
}

static void hook_judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    int slot = hd_slots_find(&h->slots, tid);
    if (slot < 0 || kind >= HD_SLOT_KINDS) {
        return;
    }
    struct hd_slot *s = &h->slots.slot[slot];
    struct hd_slot_kind *k = &s->kind[kind];
    uint32_t generation = h->slots.owner[slot].generation[kind];
    uint32_t before = __atomic_load_n(&k->verdict, __ATOMIC_ACQUIRE);
    if (before >> 2 != generation ||
        !__atomic_compare_exchange_n(&k->verdict, &before, generation << 2 | (uint32_t)verdict, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        return; /* another kind has its place now, and its first sight comes */
    }
    h->slots.idle_in[slot] = 0;
    __u64 since = __atomic_load_n(&s->since_ns, __ATOMIC_SEQ_CST);
    uint64_t ended = __atomic_load_n(&k->ended_ns, __ATOMIC_SEQ_CST);
    if (verdict == HD_WAIT_IDLE && ended > since) {
        s->blocked = 1;
        __atomic_compare_exchange_n(&s->since_ns, &since, ended, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
}

/* The start of the turn that is not over, as far as it is certain. The thread made no call while it was
 * suspect, or had no CPU. Before that it may have been in waits that did not block. */
static uint64_t certain_start(const struct hd_hook *h, const struct hd_slot *s, uint64_t since) {
    uint64_t suspect = __atomic_load_n(&s->suspect_ns, __ATOMIC_RELAXED);
    uint64_t off = __atomic_load_n(&s->off_ns, __ATOMIC_RELAXED), now = hd_os_now_ns();
    if (h->all_calls || (suspect != 0 && suspect <= since)) {
        return since;
    }
    suspect = suspect == 0 ? now : suspect;
    suspect = off > since && off < suspect ? off : suspect;
    bool exact = s->blocked && s->usual_ns <= HD_USUAL_EXACT_NS && now - suspect >= suspect - since;
    return exact ? since : suspect;
}

/* The same for a thread without a mark since the watch began: while it ran, it may have been in waits that
 * did not block. */
static uint64_t certain_start_of_unknown(const struct hd_hook *h, const struct hd_slot *s, uint64_t begun) {
    uint64_t suspect = __atomic_load_n(&s->suspect_ns, __ATOMIC_RELAXED);
    uint64_t off = __atomic_load_n(&s->off_ns, __ATOMIC_RELAXED);
    uint64_t start = off != 0 ? off : hd_os_now_ns();
    start = suspect != 0 && suspect < start ? suspect : start;
    return h->all_calls || start < begun ? begun : start;
}

static void hook_read(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out) {
    int slot = hd_slots_find(&h->slots, tid);
    *out = (struct hd_hook_thread){.known = false};
    if (slot < 0) {
        return;
    }
    const struct hd_slot *s = &h->slots.slot[slot];
    uint64_t in, since;
    do {
        in = __atomic_load_n(&s->in, __ATOMIC_SEQ_CST);
        since = __atomic_load_n(&s->since_ns, __ATOMIC_SEQ_CST);
        out->turns = s->turns;
        out->longest_ns = s->longest_ns;
        out->busy_ns = s->busy_ns;
    } while (in != __atomic_load_n(&s->in, __ATOMIC_SEQ_CST));
    out->waits = in != 0 && is_idle(&s->kind[(in - 1) % 32 % HD_SLOT_KINDS]);
    out->known = out->waits || since != 0;
    if (out->waits) {
        out->since_ns = in >> 5;
    } else if (since != 0) {
        out->since_ns = certain_start(h, s, since);
        out->earlier_ns = out->since_ns - since;
    } else {
        uint64_t begun = h->slots.owner[slot].begun_ns;
        out->since_ns = certain_start_of_unknown(h, s, begun);
        out->earlier_ns = out->since_ns - begun;
    }
}

/* True: the thread is in its loop's wait. `in`: of the slot. The wait's kind lies in other memory, which
 * costs more than all else here. So a wait that has been found is known again by its number. */
static bool is_in_wait(struct hd_slots *slots, uint32_t slot, __u64 in) {
    if (in == 0 || in == slots->idle_in[slot]) {
        return in != 0;
    }
    bool idle = is_idle(&slots->slot[slot].kind[(in - 1) % 32 % HD_SLOT_KINDS]);
    slots->idle_in[slot] = idle ? in : 0;
    return idle;
}

static void hook_long_turns(struct hd_hook *h, uint64_t before_ns, void (*found)(void *arg, pid_t tid),
                            void *arg) {
    for (uint32_t i = 0; i < h->slots.behind; i++) {
        const struct hd_slot *s = &h->slots.slot[i];
        __builtin_prefetch(s + 8);
        __u64 in = __atomic_load_n(&s->in, __ATOMIC_SEQ_CST);
        __u64 since = __atomic_load_n(&s->since_ns, __ATOMIC_SEQ_CST);
        if (since != 0 && since <= before_ns && !is_in_wait(&h->slots, i, in) && h->slots.owner[i].tid != 0) {
            found(arg, h->slots.owner[i].tid);
        }
    }
}

static uint32_t hook_free_places(const struct hd_hook *h) {
    return h->slots.count - h->slots.taken;
}

static void hook_times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    int slot = hd_slots_find(&h->slots, tid);
    *out = (struct hd_wait_times){.first = 0};
    if (slot < 0 || kind >= HD_SLOT_KINDS) {
        return;
    }
    struct hd_slot_kind *k = &h->slots.slot[slot].kind[kind];
    out->first = k->first_ns;
    out->waits = k->waits;
    out->waited_ns = k->waited_ns;
    out->order = k->order;
    out->ended_ns = k->ended_ns;
}

/* ---- suspects ----------------------------------------------------------------------------------- */

static void set_suspect(struct hd_hook *h, uint32_t slot, bool on) {
    struct hd_slot_owner *o = &h->slots.owner[slot];
    if (h->all_calls || o->suspect == on) {
        return;
    }
    if (on && hd_programs_see_calls(&h->programs, true) < 0) {
        return;
    }
    o->suspect = on;
    h->suspects += on ? 1 : -1U;
    __atomic_store_n(&h->slots.slot[slot].suspect_ns, on ? hd_os_now_ns() : 0, __ATOMIC_SEQ_CST);
}

static void hook_suspect(struct hd_hook *h, pid_t tid, bool on) {
    int slot = hd_slots_find(&h->slots, tid);
    if (slot >= 0) {
        set_suspect(h, (uint32_t)slot, on);
    }
}

/* Detaches what is attached to all calls. A record that says so may be lost, so the slots count. */
static void drop_suspects(struct hd_hook *h) {
    for (uint32_t i = 0; h->suspects != 0 && i < h->slots.count; i++) {
        if (h->slots.owner[i].suspect &&
            __atomic_load_n(&h->slots.slot[i].suspect_ns, __ATOMIC_SEQ_CST) == 0) {
            set_suspect(h, i, false);
        }
    }
    if (h->suspects == 0 && h->programs.any_enter != NULL) {
        (void)hd_programs_see_calls(&h->programs, false);
    }
}

/* With programs at all calls, switches count only for threads none of whose calls has been seen. */
static void drop_switches(struct hd_hook *h) {
    for (uint32_t i = 0; h->seeds != 0 && i < h->slots.count; i++) {
        struct hd_slot_owner *o = &h->slots.owner[i];
        if (o->seeded && h->slots.slot[i].seeded == 0) {
            o->seeded = false;
            h->seeds--;
        }
    }
    if (h->seeds == 0) {
        (void)hd_programs_see_switches(&h->programs, false);
    }
}

static void hook_step(struct hd_hook *h, uint64_t now_ns) {
    (void)now_ns;
    hd_bpf_events_seeds(h);
    (void)ring_buffer__consume(h->ring);
    hd_bpf_events_lost(h);
    drop_suspects(h);
    if (h->all_calls) {
        drop_switches(h);
    }
}

static int hook_descriptor(struct hd_hook *h) {
    return ring_buffer__epoll_fd(h->ring);
}

#define FUNCTIONS                                                                                           \
    .close = hook_close, .watch = hook_watch, .unwatch = hd_bpf_state_unwatch, .judge = hook_judge,         \
    .read = hook_read, .long_turns = hook_long_turns, .free_places = hook_free_places, .times = hook_times, \
    .suspect = hook_suspect, .step = hook_step, .descriptor = hook_descriptor

const struct hd_hook_way hd_fentry_way = {
    .name = "fentry",
    .needs = "root, or CAP_BPF and CAP_PERFMON; a kernel that is not locked down",
    .turns = HD_TURNS_EXACT,
    .open = open_fentry,
    FUNCTIONS};
const struct hd_hook_way hd_switches_way = {.name = "switches",
                                            .needs = "root, or CAP_BPF and CAP_PERFMON; Linux 5.15",
                                            .turns = HD_TURNS_EXACT_IF_BLOCKED,
                                            .open = open_switches,
                                            FUNCTIONS};
