/* SPDX-License-Identifier: MIT
 *
 * As preload/waits/recognition.c, for a thread of another process: a kind of the hook is what an entry of the
 * wait table is there.
 */
#include "cli/outside/recognise.h"

#include <stdlib.h>
#include <string.h>

#include "cli/outside/recognise_private.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/thread_list.h"
#include "outside/wait_calls.h"
#include "recognise/open_files.h"

/* The time from one judgement to the next. CERTAIN_NS: the loop is certain and in its wait; a new kind of
 * wait is judged at once. TURN_NS: a turn runs. AGAIN_NS: a turn runs, and the loop seems to be over, or a
 * wait is not read yet.
 *
 * Many threads never get a loop. The time for them is a share of the time since their last new kind of wait:
 * at least SOON_NS, at most UNKNOWN_NS. */
#define CERTAIN_NS (60 * HD_NS_PER_S)
#define TURN_NS (1 * HD_NS_PER_S)
#define AGAIN_NS (200 * HD_NS_PER_MS)
#define SOON_NS (40 * HD_NS_PER_MS)
#define UNKNOWN_NS (10 * HD_NS_PER_S)
#define UNKNOWN_SHARE 8
#define ACCEPTS 2u             /* a thread that has waited so often in one accept is a server */
#define POOL "tokio-runtime-w" /* a pool's threads, by the name that the kernel truncates */

struct outside_recogniser *outside_recogniser_create(const char *option) {
    struct outside_recogniser *r = calloc(1, sizeof *r);
    if (r != NULL) {
        outside_rule_init(&r->rule, option);
    }
    return r;
}

void outside_recogniser_destroy(struct outside_recogniser *r) {
    if (r != NULL) {
        outside_rule_free(&r->rule);
        free(r->kind);
        free(r);
    }
}

static struct known_wait *kind_at(struct outside_recogniser *r, uint32_t kind) {
    if (kind >= HD_HOOK_KINDS) {
        return NULL;
    }
    if (kind >= r->kinds) {
        struct known_wait *more = realloc(r->kind, (kind + 1) * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + r->kinds, 0, (kind + 1 - r->kinds) * sizeof *more);
        r->kind = more;
        r->kinds = kind + 1;
    }
    return &r->kind[kind];
}

static hd_thread_id thread_of(const struct outside_source *s) {
    return hd_thread_id_of((uint64_t)s->tid);
}

/* ---- a wait is read ----------------------------------------------------------------------------- */

static void read_kinds(const struct outside_source *s, struct known_wait *known) {
    struct hd_wait_seen *seen = &known->seen;
    if (hd_wait_seen_needs_kinds(seen)) {
        hd_open_files_kinds(s->process->proc_fd, thread_of(s), &known->descriptors, &seen->kinds);
        seen->kinds.once = known->descriptors.accepts && known->counted_waits < ACCEPTS;
    }
}

/* Reads the wait `w`, which is of the kind `known`, and passes it to the rule. False: not possible now. */
static bool resolve(const struct outside_source *s, struct hd_judge *j, struct outside_wait *w,
                    struct known_wait *known) {
    if (w->stack == NULL && outside_stacks_copy(s->stacks, w) != 0) {
        return false;
    }
    known->seen = (struct hd_wait_seen){.times = {.waits = 0}};
    if (!outside_wait_descriptors(w, known->object, &known->descriptors) ||
        outside_stacks_read(s->stacks, w, &j->option, &known->seen) != 0) {
        return false;
    }
    hd_open_files_set(s->process->proc_fd, thread_of(s), &known->descriptors, &known->seen.set);
    read_kinds(s, known);
    hd_judge_seen(j, &known->seen, known->blocks, hd_os_now_ns());
    return true;
}

/* As the hook compares kinds (struct hd_hook_sight). One call may wait for several epoll instances. */
static bool is_of(const struct known_wait *known, const struct outside_wait *w) {
    return known->used && known->nr == w->nr && known->sp == w->regs.sp && known->pc == w->regs.pc &&
           (!hd_wait_call_has_object(w->nr) || known->arg == (uint32_t)w->args[0]);
}

/* Reads the wait that the thread is in now, if the wait's stack is not read yet. Else reads the descriptors
 * of the wait again: the program may have changed the array. */
static void read_now(struct outside_recogniser *r, const struct outside_source *s, struct hd_judge *j) {
    struct outside_wait w;
    if (!outside_wait_now(s->process, s->tid, &w)) {
        return;
    }
    for (uint32_t i = 0; i < r->kinds; i++) {
        struct known_wait *known = &r->kind[i];
        struct hd_wait_descriptors now;
        if (!is_of(known, &w)) {
            continue;
        }
        if (known->pending) {
            known->pending = !resolve(s, j, &w, known);
        } else if (!known->descriptors.epoll && outside_wait_descriptors(&w, known->object, &now)) {
            known->descriptors = now;
        }
        return;
    }
}

/* A number may mean another file by now. */
static void read_again(const struct outside_source *s, struct known_wait *known) {
    struct hd_set now;
    if (!known->descriptors.epoll &&
        hd_open_files_set(s->process->proc_fd, thread_of(s), &known->descriptors, &now)) {
        known->seen.set = now;
        /* A blocking call may have closed its files by now. */
        if (hd_wait_seen_evidence(&known->seen) != HD_WAIT_EVIDENCE_CALL) {
            read_kinds(s, known);
        }
    }
}

/* ---- the rule ----------------------------------------------------------------------------------- */

/* One of the descriptors is still open, and is one of the loop's files. */
static bool is_open(const struct hd_rule_state *rule, const struct outside_source *s,
                    const struct hd_wait_descriptors *d) {
    int proc_fd = s->process->proc_fd;
    if (d->epoll) {
        return hd_open_files_is_epoll(proc_fd, thread_of(s), d->fd[0]);
    }
    for (uint32_t i = 0; i < d->fds; i++) {
        bool open = true;
        struct hd_set one = {.count = 1};
        one.file[0] = hd_open_files_identity(proc_fd, thread_of(s), d->fd[i], &open) & ~HD_FILE_EPOLL;
        if (open && hd_rule_shares(rule, rule->loop, &one)) {
            return true;
        }
    }
    return false;
}

static void note_closed(const struct outside_recogniser *r, const struct outside_source *s,
                        struct hd_rule_state *rule) {
    bool any = false;
    for (uint32_t i = 0; i < r->kinds && rule->loop != HD_RULE_NONE; i++) {
        const struct known_wait *known = &r->kind[i];
        bool loops =
            known->used && !known->pending && known->seen.set.count > 0 && known->verdict == HD_WAIT_IDLE;
        if (loops && is_open(rule, s, &known->descriptors)) {
            return;
        }
        any |= loops;
    }
    if (any) {
        hd_rule_closed(rule);
    }
}

/* Of the kinds with new waits, the one that waited first after the wait with number `after`. */
static struct known_wait *next_to_count(struct outside_recogniser *r, uint64_t after) {
    struct known_wait *next = NULL;
    for (uint32_t i = 0; i < r->kinds; i++) {
        struct known_wait *known = &r->kind[i];
        const struct hd_wait_times *t = &known->seen.times;
        if (known->used && !known->pending && t->waits > 0 && t->order > after &&
            (next == NULL || t->order < next->seen.times.order)) {
            next = known;
        }
    }
    return next;
}

static void read_times(struct outside_recogniser *r, const struct outside_source *s) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        struct known_wait *known = &r->kind[i];
        struct hd_wait_times times = {.waits = 0};
        if (known->used && !known->pending) {
            s->way->times(s->hook, s->tid, i, &times);
            r->order = times.order > r->order ? times.order : r->order;
            uint64_t waits = times.waits, waited_ns = times.waited_ns;
            bool grew = waits >= known->counted_waits && waited_ns >= known->counted_ns;
            times.waits = grew ? waits - known->counted_waits : 0;
            times.waited_ns = grew ? waited_ns - known->counted_ns : 0;
            known->counted_waits = waits;
            known->counted_ns = waited_ns;
            known->seen.times = times;
        }
    }
}

static void count_waits(struct outside_recogniser *r, const struct outside_source *s, struct hd_judge *j) {
    read_times(r, s);
    struct known_wait *known;
    for (uint64_t order = 0; (known = next_to_count(r, order)) != NULL; order = known->seen.times.order) {
        read_again(s, known);
        hd_judge_ended(j, &known->seen);
    }
}

/* Closed files prove that the program has left the loop in two cases. Two judgements in a row find them
 * closed, or the thread has made another wait since. */
static void note_left(struct outside_recogniser *r, const struct hd_rule_state *rule) {
    bool over = hd_rule_is_over(rule);
    bool lives = over && (r->closed || rule->group[rule->loop].order.last != r->order);
    r->left = over && (rule->outside.waited || lives);
    r->again_soon = over && !r->left;
    r->closed = over;
}

static void give_verdicts(struct outside_recogniser *r, const struct outside_source *s, struct hd_judge *j) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        struct known_wait *known = &r->kind[i];
        if (known->used && !known->pending) {
            uint8_t verdict = (uint8_t)hd_judge_verdict(j, &known->seen);
            if (verdict != known->verdict) {
                known->verdict = verdict;
                s->way->judge(s->hook, s->tid, i, (enum hd_wait_verdict)verdict);
            }
        }
    }
}

/* The kernel's object behind the wait's descriptor. The hook does not know it for a wait that began before
 * the watch. Then no wait for that descriptor has one, or each would seem to be another loop. */
static uint64_t object_of(const struct outside_recogniser *r, const struct hd_hook_sight *sight) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        const struct known_wait *known = &r->kind[i];
        if (known->used && known->object == 0 && known->descriptors.epoll &&
            known->descriptors.fd[0] == (int32_t)sight->args[0]) {
            return 0;
        }
    }
    return sight->object;
}

/* ---- what the watcher calls --------------------------------------------------------------------- */

/* NULL: the sight says nothing about a loop. */
static struct known_wait *kind_of(struct outside_recogniser *r, const struct outside_source *s,
                                  const struct hd_hook_sight *sight) {
    struct known_wait *known = kind_at(r, sight->kind);
    if (known == NULL || !outside_wait_is_known(sight->nr)) {
        return NULL;
    }
    if (r->kinds == 1) {
        char name[16];
        hd_thread_name(s->process->proc_fd, thread_of(s), name, sizeof name);
        r->pool = strcmp(name, POOL) == 0;
    }
    return known;
}

static void store_kind(struct outside_recogniser *r, struct known_wait *known,
                       const struct hd_hook_sight *sight, uint64_t object) {
    *known = (struct known_wait){.used = true,
                                 .pending = true,
                                 .blocks = sight->blocks,
                                 .nr = sight->nr,
                                 .pc = sight->regs.pc,
                                 .sp = sight->regs.sp,
                                 .arg = (uint32_t)sight->args[0],
                                 .object = object,
                                 .first_ns = sight->at_ns};
    r->sight_ns = hd_os_now_ns();
}

void outside_sight_later(struct outside_recogniser *r, const struct outside_source *s,
                         const struct hd_hook_sight *sight) {
    struct known_wait *known = kind_of(r, s, sight);
    if (known != NULL) {
        store_kind(r, known, sight, object_of(r, sight));
    }
}

void outside_sight(struct outside_recogniser *r, const struct outside_source *s,
                   const struct hd_hook_sight *sight) {
    struct known_wait *known = kind_of(r, s, sight);
    struct hd_judge j;
    if (known == NULL) {
        return;
    }
    struct outside_wait w = {.process = s->process,
                             .tid = s->tid,
                             .nr = sight->nr,
                             .regs = sight->regs,
                             .stack = sight->stack,
                             .stack_addr = sight->stack_addr,
                             .stack_bytes = sight->stack_bytes};
    memcpy(w.args, sight->args, sizeof w.args);
    uint64_t object = object_of(r, sight);
    outside_rule_open(&r->rule, &j);
    if (!hd_judge_by_option(&j)) { /* the rule compares with the newest waits of other kinds */
        known->used = false;
        count_waits(r, s, &j);
    }
    store_kind(r, known, sight, object);
    known->pending = !resolve(s, &j, &w, known);
    (void)hd_judge_by_option(&j);
    give_verdicts(r, s, &j);
    outside_rule_close(&r->rule, &j);
}

bool outside_is_unread(const struct outside_recogniser *r) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        if (r->kind[i].used && r->kind[i].pending) {
            return true;
        }
    }
    return false;
}

bool outside_sums_due(const struct outside_recogniser *r, const struct hd_hook_thread *state,
                      uint64_t now_ns) {
    uint64_t age_ns = now_ns - r->judged_ns;
    bool waits = state->known && state->waits, waited = state->turns != r->turns;
    if (r->kinds == 0 || (r->judged_ns != 0 && age_ns < SOON_NS)) {
        return false;
    }
    if (r->rule.certain && !waits) {
        return age_ns >= (r->again_soon || outside_is_unread(r) ? AGAIN_NS : TURN_NS);
    }
    if (r->rule.certain) {
        return waited && age_ns >= CERTAIN_NS;
    }
    if (r->rule.loop != HD_RULE_NONE && (waited || waits != r->waited)) {
        return true;
    }
    uint64_t share_ns = (now_ns - r->sight_ns) / UNKNOWN_SHARE;
    return (r->rule.loop == HD_RULE_NONE || outside_is_unread(r)) &&
           age_ns >= (share_ns < UNKNOWN_NS ? share_ns : UNKNOWN_NS);
}

void outside_sums(struct outside_recogniser *r, const struct outside_source *s,
                  const struct hd_hook_thread *state, uint64_t now_ns) {
    struct hd_judge j;
    outside_rule_open(&r->rule, &j);
    r->waited = state->known && state->waits;
    read_now(r, s, &j);
    if (!hd_judge_by_option(&j)) {
        note_closed(r, s, &j.rule);
        count_waits(r, s, &j);
        note_left(r, &j.rule);
        if (r->waited) {
            hd_rule_waits_again(&j.rule, now_ns);
        }
    }
    give_verdicts(r, s, &j);
    r->turns = state->turns;
    r->judged_ns = now_ns;
    outside_rule_close(&r->rule, &j);
}

void outside_loop_read(const struct outside_recogniser *r, struct outside_loop *out) {
    struct hd_judge j;
    const struct known_wait *best = NULL;
    outside_rule_open(&r->rule, &j);
    *out = (struct outside_loop){.known = j.rule.loop != HD_RULE_NONE,
                                 .certain = hd_rule_certain(&j.rule),
                                 .has_evidence = hd_rule_has_evidence(&j.rule),
                                 .lost = j.rule.loop == HD_RULE_NONE && j.rule.changes > 0,
                                 .left = r->left,
                                 .changes = j.rule.changes,
                                 .first_ns = UINT64_MAX,
                                 .certainty = hd_judge_certainty(&j)};
    for (uint32_t i = 0; i < r->kinds; i++) {
        const struct known_wait *known = &r->kind[i];
        if (known->used && known->verdict == HD_WAIT_IDLE && known->first_ns < out->first_ns) {
            out->first_ns = known->first_ns;
        }
        bool better = best == NULL || (known->verdict == HD_WAIT_IDLE && best->verdict != HD_WAIT_IDLE);
        if (known->used && !known->pending && known->seen.stack.caller_pc != 0 && better) {
            best = known;
        }
    }
    out->call_pc = best != NULL ? best->seen.stack.call_pc : 0;
    out->caller_pc = best != NULL ? best->seen.stack.caller_pc : 0;
}
