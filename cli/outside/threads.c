/* SPDX-License-Identifier: MIT */
#include "cli/outside/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/outside/followed.h"
#include "cli/outside/loops.h"
#include "cli/outside/reporting.h"
#include "cli/outside/turns.h"
#include "os/os.h"
#include "os/thread_list.h"

static struct outside_thread **bucket_of(struct watcher *w, pid_t tid) {
    return &w->bucket[(unsigned)tid % OUTSIDE_BUCKETS];
}

struct outside_thread *outside_thread_of(const struct watcher *w, pid_t tid) {
    struct outside_thread *t = w->bucket[(unsigned)tid % OUTSIDE_BUCKETS];
    while (t != NULL && t->tid != tid) {
        t = t->chain;
    }
    return t;
}

/* The programs of one user have no more places than are free, so at most half of all. A process leaves some
 * to others of the same user. */
static bool fits(const struct outside_process *p) {
    const struct watcher *w = p->watcher;
    const struct outside_user *user = outside_user_find(w->users, p->shown.uid);
    unsigned taken = p->thread_count / 4 + (user != NULL ? user->threads : 0);
    return taken < w->way->free_places(w->hook);
}

int outside_thread_add(struct outside_process *p, pid_t tid) {
    struct watcher *w = p->watcher;
    struct outside_thread *t = outside_thread_of(w, tid), **bucket = bucket_of(w, tid);
    if (t != NULL && t->process == p) {
        t->listed = true;
        return 0;
    }
    if (t != NULL) { /* the kernel has given the number to a thread of another process */
        outside_thread_remove(t);
    }
    if (!fits(p)) {
        return -ENOSPC;
    }
    t = calloc(1, sizeof *t);
    int rc = t != NULL && outside_user_enter(&w->users, p->shown.uid) ? 0 : -ENOMEM;
    if (rc == 0) {
        rc = w->way->watch(w->hook, p->live.pid, tid);
        if (rc != 0) {
            outside_user_leave(&w->users, p->shown.uid, hd_os_now_ns());
        }
    }
    if (rc != 0) {
        free(t);
        return rc;
    }
    *t = (struct outside_thread){.process = p,
                                 .tid = tid,
                                 .next = p->threads,
                                 .chain = *bucket,
                                 .listed = true,
                                 .added_ns = hd_os_now_ns()};
    p->threads = *bucket = t;
    p->thread_count++;
    w->threads++;
    return 0;
}

static void take_out(struct outside_thread *t) {
    struct outside_thread **at = bucket_of(t->process->watcher, t->tid);
    while (*at != t) {
        at = &(*at)->chain;
    }
    *at = t->chain;
    for (at = &t->process->threads; *at != t; at = &(*at)->next) {
    }
    *at = t->next;
    t->process->thread_count--;
    t->process->watcher->threads--;
    outside_user_leave(&t->process->watcher->users, t->process->shown.uid, hd_os_now_ns());
}

void outside_thread_remove(struct outside_thread *t) {
    struct watcher *w = t->process->watcher;
    outside_turns_add(&t->process->ended_turns, t, hd_os_now_ns());
    followed_drop(t);
    reporting_leave(t);
    loops_forget(t);
    w->way->unwatch(w->hook, t->tid);
    take_out(t);
    free(t);
}

/* Says once for a process that it has threads which the hook cannot watch. */
static void note_unwatched(struct outside_process *p, unsigned unwatched) {
    const struct watcher_events *events = &p->watcher->options.events;
    char text[128];
    if (!p->unwatched_said && unwatched != 0 && events->note != NULL) {
        p->unwatched_said = true;
        snprintf(text, sizeof text,
                 "%u of %u threads are not watched: there is no room for more of its user's threads",
                 unwatched, p->thread_count + unwatched);
        events->note(events->arg, &p->shown, text);
    }
    p->shown.unwatched = unwatched;
}

void outside_threads_list(struct outside_process *p) {
    struct hd_thread_list list;
    struct outside_thread *t, *next;
    unsigned unwatched = 0;
    for (t = p->threads; t != NULL; t = t->next) {
        t->listed = false;
    }
    hd_thread_list_start(&list, p->live.proc_fd);
    for (int tid; (tid = (int)hd_thread_list_next(&list).number) != 0;) {
        t = outside_thread_of(p->watcher, tid);
        bool known = t != NULL && t->process == p; /* a new one is not tried where there is no room */
        unwatched += (unwatched != 0 && !known) || outside_thread_add(p, tid) == -ENOSPC;
    }
    hd_thread_list_end(&list);
    for (t = p->threads; t != NULL; t = next) {
        next = t->next;
        if (!t->listed && t->ended_ns == 0) {
            t->ended_ns = hd_os_now_ns();
            p->thread_ended = true;
        }
    }
    p->listed_ns = hd_os_now_ns();
    note_unwatched(p, unwatched);
}
