/* SPDX-License-Identifier: MIT */
#include "cli/outside/loops.h"

#include "cli/outside/followed.h"
#include "cli/outside/reads.h"
#include "cli/outside/recognise.h"
#include "cli/outside/reporting.h"
#include "os/os.h"

static void store_certainty(const struct outside_process *p) {
    uint8_t most = HD_RECORD_NO_LOOP;
    for (const struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        most = t->certainty > most ? t->certainty : most;
    }
    uint32_t before = atomic_load(&p->shown.record->loop.certainty);
    if (most > before) { /* a thread that has ended leaves what it has shown */
        atomic_store(&p->shown.record->loop.certainty, most);
    }
}

static void pass_certainty(struct outside_thread *t, uint8_t before) {
    const struct outside_process *p = t->process;
    const struct watcher_events *events = &p->watcher->options.events;
    store_certainty(p);
    reporting_certainty(t);
    if (events->loop != NULL && t->certainty > before) {
        events->loop(events->arg, &p->shown, t->tid, (enum hd_record_certainty)t->certainty);
    }
}

/* Another loop takes the place of the thread's loop, so the running turn is void, and deferred reports are,
 * too. */
static void change(struct outside_thread *t, const struct outside_loop *found) {
    if (t->changes != 0) {
        followed_void(t, hd_os_now_ns());
        reporting_void(t);
    }
    t->changes = found->changes;
}

static void take(struct outside_thread *t) {
    struct hd_record *record = t->process->shown.record;
    struct outside_loop found;
    uint8_t before = t->certainty;
    outside_loop_read(t->recogniser, &found);
    if (found.changes != t->changes) {
        change(t, &found);
    }
    t->left = found.left || found.lost;
    t->has_evidence = found.has_evidence;
    if (found.call_pc != 0 && found.certainty >= atomic_load(&record->loop.certainty)) {
        atomic_store(&record->loop.call_pc, found.call_pc);
        atomic_store(&record->loop.caller_pc, found.caller_pc);
    }
    t->certainty = (uint8_t)found.certainty;
    if (before == HD_RECORD_NO_LOOP && t->certainty != before && found.first_ns != UINT64_MAX) {
        followed_found(t, found.first_ns);
    }
    if (t->certainty != before) {
        t->process->shown.loops += (before == HD_RECORD_NO_LOOP) - (t->certainty == HD_RECORD_NO_LOOP);
        pass_certainty(t, before);
    }
}

/* ---- the work on waits -------------------------------------------------------------------------- */

/* Half of what its user has. */
#define PROCESS_PARTS (2 * OUTSIDE_USER_PARTS)
#define PROCESS_NS (OUTSIDE_USER_NS / 2)

static bool may_work(struct outside_process *p) {
    uint64_t now_ns = hd_os_now_ns();
    struct outside_user *user = outside_user_find(p->watcher->users, p->shown.uid);
    bool user_may =
        user == NULL || outside_share_is_left(&user->share, now_ns, OUTSIDE_USER_PARTS, OUTSIDE_USER_NS);
    return outside_share_is_left(&p->share, now_ns, PROCESS_PARTS, PROCESS_NS) && user_may;
}

/* `begun_ns`: this thread's CPU time before the work. */
static void has_worked(struct outside_process *p, uint64_t begun_ns) {
    const uint64_t cpu_ns = hd_os_thread_cpu_ns() - begun_ns;
    struct outside_user *user = outside_user_find(p->watcher->users, p->shown.uid);
    p->share.spent_ns += cpu_ns;
    if (user != NULL) {
        user->share.spent_ns += cpu_ns;
    }
}

static struct outside_source source_of(const struct outside_thread *t) {
    const struct watcher *w = t->process->watcher;
    return (struct outside_source){
        .stacks = w->stacks, .process = &t->process->live, .tid = t->tid, .way = w->way, .hook = w->hook};
}

void loops_sight(struct outside_thread *t, const struct hd_hook_sight *sight) {
    const struct outside_source source = source_of(t);
    if (t->recogniser == NULL) {
        t->recogniser = outside_recogniser_create(t->process->shown.record->options.loop);
    }
    bool first = t->sights == 0;
    t->sights += t->sights < 2;
    if (t->recogniser == NULL) {
        return;
    }
    outside_reads_no_more(t->process->watcher);
    /* The first wait of each thread is always read: without it a thread that waits seems to hang. */
    bool may = may_work(t->process);
    if (!first && !may) {
        outside_sight_later(t->recogniser, &source, sight);
        return;
    }
    uint64_t begun_ns = hd_os_thread_cpu_ns();
    outside_sight(t->recogniser, &source, sight);
    take(t);
    has_worked(t->process, begun_ns);
}

/* True: the thread seems to be in a long turn, and may be in a loop's wait that is not read. One read shows
 * that no hang is to be reported, so the share does not count. */
static bool may_be_in_wait(const struct outside_thread *t) {
    return t->followed != NULL && outside_is_unread(t->recogniser);
}

bool loops_look(struct outside_thread *t, uint64_t now_ns) {
    const struct outside_source source = source_of(t);
    struct hd_hook_thread seen;
    if (t->recogniser == NULL) {
        return true;
    }
    source.way->read(source.hook, t->tid, &seen);
    if (!outside_sums_due(t->recogniser, &seen, now_ns)) {
        return true;
    }
    if (!may_work(t->process) && !may_be_in_wait(t)) {
        return false;
    }
    outside_reads_no_more(t->process->watcher);
    uint64_t begun_ns = hd_os_thread_cpu_ns();
    outside_sums(t->recogniser, &source, &seen, now_ns);
    take(t);
    has_worked(t->process, begun_ns);
    return true;
}

void loops_forget(struct outside_thread *t) {
    outside_recogniser_destroy(t->recogniser);
    t->recogniser = NULL;
    t->certainty = HD_RECORD_NO_LOOP;
    t->changes = 0;
}
