/* SPDX-License-Identifier: MIT */
#include "cli/outside/loops.h"

#include "cli/outside/followed.h"
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

void outside_thread_certainty(struct outside_thread *t, enum hd_record_certainty certainty) {
    struct outside_process *p = t->process;
    const struct watcher_events *events = &p->watcher->options.events;
    uint8_t before = t->certainty;
    if (before == certainty) {
        return;
    }
    t->certainty = (uint8_t)certainty;
    p->shown.loops += (before == HD_RECORD_NO_LOOP) - (certainty == HD_RECORD_NO_LOOP);
    store_certainty(p);
    reporting_certainty(t);
    if (events->loop != NULL && certainty > before) {
        events->loop(events->arg, &p->shown, t->tid, certainty);
    }
}

void outside_thread_another(struct outside_thread *t) {
    followed_void(t, hd_os_now_ns());
    reporting_void(t);
}
