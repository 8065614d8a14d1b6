/* SPDX-License-Identifier: MIT */
#include "cli/outside/watcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "capture/capture.h"
#include "cli/outside/followed.h"
#include "cli/outside/loops.h"
#include "cli/outside/process.h"
#include "cli/outside/recognise_stacks.h"
#include "cli/outside/reporting.h"
#include "cli/outside/threads.h"
#include "os/os.h"

#define LIST_NS (1 * HD_NS_PER_S) /* a process's threads are listed at most once in this time */
#define MANY_NS (200 * HD_NS_PER_MS)
#define ALL_NS \
    (1 * HD_NS_PER_S) /* of many threads those that are not in a long turn are looked at so rarely */
#define REPLACE_NS (1 * HD_NS_PER_S)      /* a program may exec without end: each new one has its cost */
#define MANY_LIST_NS (200 * HD_NS_PER_MS) /* between two processes' lists */

/* ---- what the hook says ----------------------------------------------------------------------- */

static void on_sight(void *arg, pid_t tid, const struct hd_hook_sight *sight) {
    const struct watcher *w = arg;
    struct outside_thread *t = outside_thread_of(w, tid);
    if (t != NULL) {
        uint64_t begun_ns = hd_os_now_ns();
        working_for(w->options.now, t->process->live.pid, t->process->live.uid);
        loops_sight(t, sight);
        working_for(w->options.now, 0, 0);
        t->process->shown.spent_ns += hd_os_now_ns() - begun_ns;
    }
}

static void on_turn(void *arg, pid_t tid, const struct hd_hook_turn *turn) {
    const struct watcher *w = arg;
    struct outside_thread *t = outside_thread_of(w, tid);
    if (t != NULL && turn->end_ns >= turn->start_ns) {
        working_for(w->options.now, t->process->live.pid, t->process->live.uid);
        followed_turn(t, turn);
        working_for(w->options.now, 0, 0);
    }
}

static struct outside_process *process_of(const struct watcher *w, pid_t pid) {
    struct outside_process *p = w->processes;
    while (p != NULL && p->live.pid != pid) {
        p = p->next;
    }
    return p;
}

/* By its main thread: events come for all programs of the host. */
static struct outside_process *process_by_thread(const struct watcher *w, pid_t pid) {
    const struct outside_thread *t = outside_thread_of(w, pid);
    return t != NULL && t->process->live.pid == pid ? t->process : NULL;
}

static void on_thread_began(void *arg, pid_t pid, pid_t tid) {
    struct watcher *w = arg;
    struct outside_process *p = process_of(w, pid);
    if (p != NULL) {
        (void)outside_thread_add(p, tid);
    } else if (w->options.events.process_began != NULL) {
        w->options.events.process_began(w->options.events.arg, pid, 0);
    }
}

static void on_thread_ended(void *arg, pid_t tid, uint64_t at_ns) {
    struct watcher *w = arg;
    struct outside_thread *t = outside_thread_of(w, tid);
    if (t != NULL && t->ended_ns == 0) {
        t->ended_ns = at_ns != 0 ? at_ns : hd_os_now_ns();
        t->process->thread_ended = w->busy = true;
    }
}

static void on_exec(void *arg, pid_t pid) {
    struct outside_process *p = process_by_thread(arg, pid);
    if (p != NULL) {
        p->replaced = p->watcher->busy = true;
    }
}

/* ---- the way ---------------------------------------------------------------------------------- */

static int open_way(struct watcher *w, const struct hd_hook_way *way) {
    const struct hd_hook_events events = {.arg = w,
                                          .look_ns = w->options.settings.interval_ns,
                                          .sight = on_sight,
                                          .turn = on_turn,
                                          .thread_began = on_thread_began,
                                          .thread_ended = on_thread_ended,
                                          .exec = on_exec};
    int rc = way->open(&w->hook, &events, w->options.settings.threshold_ns / 2);
    w->way = rc == 0 ? way : NULL;
    return rc;
}

/* Opens the way of this name, or the first that can be opened. */
static bool open_ways(struct watcher *w, struct problem *why) {
    int rc = -ENOTSUP;
    const char *name = w->options.hook;
    for (unsigned i = 0; hd_hook_ways[i] != NULL && hd_hook_ways[i]->name[0] != '\0' && w->way == NULL; i++) {
        if (name == NULL || strcmp(hd_hook_ways[i]->name, name) == 0) {
            rc = open_way(w, hd_hook_ways[i]);
        }
    }
    if (w->way == NULL) {
        error_set(why, "cannot watch a program that runs: %s%s%s", name != NULL ? name : "",
                  name != NULL ? ": " : "", strerror(-rc));
    }
    return w->way != NULL;
}

/* Each process has two open files, and each thread may have some in a hook. */
static void raise_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

struct watcher *watcher_create(const struct watcher_options *options, struct problem *why) {
    struct watcher *w = calloc(1, sizeof *w);
    uint8_t *stack = malloc(HD_STACK_BYTES_MAX);
    struct outside_stacks *stacks = outside_stacks_create();
    if (w == NULL || stack == NULL || stacks == NULL) {
        free(w);
        free(stack);
        outside_stacks_destroy(stacks);
        error_set(why, "cannot watch a program that runs: %s", strerror(ENOMEM));
        return NULL;
    }
    raise_limit();
    hd_os_clock_init();
    w->options = *options;
    w->stack = stack;
    w->stacks = stacks;
    w->next_ns = hd_os_now_ns();
    if (!open_ways(w, why)) {
        outside_stacks_destroy(stacks);
        free(stack);
        free(w);
        return NULL;
    }
    return w;
}

void watcher_destroy(struct watcher *w) {
    while (w->processes != NULL) {
        outside_process_end(w->processes, true);
    }
    w->way->close(w->hook);
    outside_users_free(&w->users);
    outside_stacks_destroy(w->stacks);
    free(w->stack);
    free(w);
}

const struct hd_hook_way *watcher_way(const struct watcher *w) {
    return w->way;
}

/* ---- processes -------------------------------------------------------------------------------- */

int watcher_add(struct watcher *w, pid_t pid, struct problem *why) {
    if (process_of(w, pid) != NULL) {
        error_set(why, "cannot attach to process %d: it is watched already", pid);
        return -EEXIST;
    }
    return outside_process_add(w, pid, why);
}

void watcher_remove(struct watcher *w, pid_t pid) {
    struct outside_process *p = process_of(w, pid);
    if (p != NULL) {
        outside_process_end(p, true);
    }
}

unsigned watcher_count(const struct watcher *w) {
    return w->count;
}

const struct watched_process *watcher_find(const struct watcher *w, pid_t pid) {
    const struct outside_process *p = process_of(w, pid);
    return p != NULL ? &p->shown : NULL;
}

const struct watched_process *watcher_next(const struct watcher *w, const struct watched_process *before) {
    const struct outside_process *p =
        before == NULL ? w->processes : ((const struct outside_process *)(const void *)before)->next;
    return p != NULL ? &p->shown : NULL;
}

/* ---- a step ----------------------------------------------------------------------------------- */

/* Lists the threads of one process, and checks that it lives. Each process has its turn. */
static void check_one(struct watcher *w, uint64_t now_ns) {
    struct outside_process *oldest = w->processes;
    if (outside_has_many(w) && now_ns < w->checked_ns + MANY_LIST_NS) {
        return;
    }
    for (struct outside_process *p = w->processes; p != NULL; p = p->next) {
        oldest = p->listed_ns < oldest->listed_ns ? p : oldest;
    }
    if (oldest != NULL && now_ns >= oldest->listed_ns + LIST_NS) {
        working_for(w->options.now, oldest->live.pid, oldest->live.uid);
        outside_process_check(oldest, now_ns);
        w->busy |= oldest->ended || oldest->replaced || oldest->thread_ended;
        w->checked_ns = now_ns;
    }
}

/* The process runs another program now, which has a watch of its own. It owes what the program before it has
 * spent. */
static void replace(struct outside_process *p) {
    struct watcher *w = p->watcher;
    struct problem why;
    pid_t pid = p->live.pid;
    const struct outside_share share = p->share;
    outside_process_end(p, true);
    if (outside_process_add(w, pid, &why) == 0) {
        p = process_of(w, pid);
        p->young = true;
        p->share = share;
    } else if (w->options.events.note != NULL) {
        w->options.events.note(w->options.events.arg, NULL, why.text);
    }
}

static void look(struct outside_process *p, bool all) {
    uint64_t now_ns = hd_os_now_ns(), next_ns = outside_process_look(p, now_ns, all);
    p->shown.spent_ns += hd_os_now_ns() - now_ns;
    p->watcher->next_ns = next_ns < p->watcher->next_ns ? next_ns : p->watcher->next_ns;
}

static void on_long_turn(void *arg, pid_t tid) {
    struct watcher *w = arg;
    struct outside_thread *t = outside_thread_of(w, tid);
    if (t != NULL && t->followed == NULL && t->ended_ns == 0 && !t->process->replaced) {
        uint64_t now_ns = hd_os_now_ns(), next_ns = outside_process_look_at(t, now_ns);
        t->process->shown.spent_ns += hd_os_now_ns() - now_ns;
        w->next_ns = next_ns < w->next_ns ? next_ns : w->next_ns;
        w->busy = true;
    }
}

static uint64_t scan_every_ns(const struct watcher *w) {
    uint64_t half_ns = w->options.settings.threshold_ns / 2;
    return half_ns < MANY_NS ? half_ns : MANY_NS;
}

/* The hook finds long turns among many threads: each of them must be seen well before it becomes a hang. */
static void find_long_turns(struct watcher *w, uint64_t now_ns) {
    const struct hd_record_options *o = &w->options.settings;
    if (outside_has_many(w) && now_ns >= w->scanned_ns + scan_every_ns(w)) {
        w->scanned_ns = now_ns;
        w->way->long_turns(w->hook, now_ns - FOLLOWED_INTERVALS * o->interval_ns, on_long_turn, w);
    }
}

/* True: a turn of the process needs each look. Between turns its worker waits for the next one. */
static bool has_turn(const struct outside_process *p) {
    return p->followed != 0 || reporting_has_turn(p);
}

/* Looks at the processes that need it, or at all. */
static void look_at_processes(struct watcher *w, uint64_t now_ns, bool all) {
    struct outside_process *next;
    w->busy = false;
    for (struct outside_process *p = w->processes; p != NULL; p = next) {
        next = p->next;
        working_for(w->options.now, p->live.pid, p->live.uid);
        bool late = p->replaced && now_ns < p->added_ns + REPLACE_NS;
        if (!p->replaced && (all || has_turn(p) || p->thread_ended)) {
            look(p, all);
        }
        w->busy |= has_turn(p) || late;
        if (p->replaced && !late) { /* the exec may be that of a later process with its number */
            p->ended |= !live_process_lives(&p->live);
        }
        if (p->ended) {
            outside_process_end(p, false);
        } else if (p->replaced && !late) {
            replace(p);
        }
    }
}

/* Most of the cost of many idle threads is in the wake-ups. So the watcher rests until the next scan, if its
 * hook wakes it and no turn is followed. */
static void limit_rest(struct watcher *w, uint64_t now_ns) {
    bool rests = outside_has_many(w) && !w->busy && watcher_descriptor(w) >= 0;
    uint64_t until_ns = rests ? w->scanned_ns + scan_every_ns(w) : now_ns + w->options.settings.interval_ns;
    w->next_ns = until_ns < w->next_ns ? until_ns : w->next_ns;
}

void watcher_step(struct watcher *w) {
    uint64_t now_ns = hd_os_now_ns();
    w->way->step(w->hook, now_ns);
    w->next_ns = UINT64_MAX;
    find_long_turns(w, now_ns);
    bool all = !outside_has_many(w) || now_ns >= w->looked_ns + ALL_NS;
    if (all || w->busy) {
        w->looked_ns = all ? now_ns : w->looked_ns;
        look_at_processes(w, now_ns, all);
    }
    check_one(w, now_ns);
    limit_rest(w, now_ns);
    working_for(w->options.now, 0, 0);
    outside_stacks_rest(w->stacks, now_ns);
}

uint64_t watcher_next_ns(const struct watcher *w) {
    return w->next_ns;
}

int watcher_descriptor(const struct watcher *w) {
    return w->way->descriptor(w->hook);
}
