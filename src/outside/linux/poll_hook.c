/* SPDX-License-Identifier: MIT */
#include "outside/linux/poll_hook.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "os/os.h"
#include "outside/linux/perf_proof.h"
#include "outside/linux/perf_switches.h"
#include "outside/linux/suspicion.h"

#define BUCKETS 1024u
#define FILES_OF_THREAD 2u
#define THREADS_MAX 100000u

struct hd_hook {
    struct hd_hook_events events;
    uint64_t long_ns;
    hd_poll_prove prove; /* NULL: no proofs */
    int perf_fd;         /* keeps the kernel's events switched on; -1: not needed */
    bool in_step;        /* a thread that is no longer watched is freed when the step is over */
    struct hd_poll_thread *threads;
    uint32_t count;
    uint32_t most; /* threads: their files must leave some to others */
    struct hd_poll_thread *bucket[BUCKETS];
};

static uint32_t most_threads(void) {
    struct rlimit files;
    bool known = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < THREADS_MAX * FILES_OF_THREAD;
    return known ? (uint32_t)files.rlim_cur / (2 * FILES_OF_THREAD) : THREADS_MAX;
}

int hd_poll_hook_open(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    struct hd_hook *h = calloc(1, sizeof *h);
    if (h == NULL) {
        return -ENOMEM;
    }
    h->events = *events;
    h->long_ns = long_ns;
    h->perf_fd = -1;
    h->most = most_threads();
    *hook = h;
    return 0;
}

static int open_perf(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns,
                     hd_poll_prove prove) {
    int rc = hd_perf_proof_try();
    if (rc != 0) {
        return rc;
    }
    int fd = hd_perf_keep_on();
    rc = fd < 0 ? fd : hd_poll_hook_open(hook, events, long_ns);
    if (rc != 0) {
        hd_os_close(fd);
        return rc;
    }
    (*hook)->perf_fd = fd;
    (*hook)->prove = prove;
    return 0;
}

int hd_poll_hook_open_counter(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    return open_perf(hook, events, long_ns, hd_suspicion_prove);
}

int hd_poll_hook_open_records(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns) {
    return open_perf(hook, events, long_ns, hd_perf_switches_prove);
}

/* ---- threads ------------------------------------------------------------------------------------------ */

static struct hd_poll_thread **bucket_of(struct hd_hook *h, pid_t tid) {
    return &h->bucket[(unsigned)tid % BUCKETS];
}

static struct hd_poll_thread *find(struct hd_hook *h, pid_t tid) {
    struct hd_poll_thread *t = *bucket_of(h, tid);
    while (t != NULL && t->tid != tid) {
        t = t->chain;
    }
    return t;
}

int hd_poll_hook_watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    hd_poll_hook_unwatch(h, tid); /* the number of a thread that has ended */
    struct hd_poll_thread *t = malloc(sizeof *t);
    int rc = t != NULL ? hd_poll_thread_open(t, pid, tid, h->events.look_ns) : -ENOMEM;
    if (rc != 0) {
        if (t != NULL) {
            hd_poll_thread_close(t);
        }
        free(t);
        return rc;
    }
    struct hd_poll_thread **bucket = bucket_of(h, tid);
    t->next = h->threads;
    t->chain = *bucket;
    h->threads = *bucket = t;
    h->count++;
    return 0;
}

static void sweep(struct hd_hook *h) {
    for (struct hd_poll_thread **at = &h->threads, *t; (t = *at) != NULL;) {
        if (!t->unwatched) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        h->count--;
        hd_suspicion_end(t);
        hd_perf_switches_end(t);
        hd_poll_thread_close(t);
        free(t);
    }
}

void hd_poll_hook_unwatch(struct hd_hook *h, pid_t tid) {
    struct hd_poll_thread **at = bucket_of(h, tid);
    while (*at != NULL && (*at)->tid != tid) {
        at = &(*at)->chain;
    }
    if (*at == NULL) {
        return;
    }
    (*at)->unwatched = true;
    *at = (*at)->chain;
    if (!h->in_step) {
        sweep(h);
    }
}

void hd_poll_hook_close(struct hd_hook *h) {
    for (struct hd_poll_thread *t = h->threads; t != NULL; t = t->next) {
        t->unwatched = true;
    }
    sweep(h);
    hd_os_close(h->perf_fd);
    free(h);
}

/* ---- what the watcher reads and says ------------------------------------------------------------------ */

void hd_poll_hook_judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    struct hd_poll_thread *t = find(h, tid);
    if (t == NULL || kind >= HD_HOOK_KINDS) {
        return;
    }
    bool was_idle = hd_poll_thread_is_idle(t, (int32_t)kind);
    t->kinds.kind[kind].verdict = (uint8_t)verdict;
    if (hd_poll_thread_is_idle(t, (int32_t)kind) != was_idle) {
        hd_suspicion_end(t); /* another set of waits ends the turn now */
    }
    if (t->kinds.now == (int32_t)kind) { /* the wait is not over yet */
        struct hd_poll_look again = t->turn.last;
        struct hd_hook_turn ended;
        again.waits = hd_poll_thread_is_idle(t, (int32_t)kind);
        (void)hd_poll_turn_look(&t->turn, &again, &ended);
    }
}

void hd_poll_hook_read(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out) {
    const struct hd_poll_thread *t = find(h, tid);
    *out = t != NULL ? t->turn.shown : (struct hd_hook_thread){.waits = true};
    out->seen_ns = t != NULL ? t->turn.last.at_ns : 0;
}

void hd_poll_hook_long_turns(struct hd_hook *h, uint64_t before_ns, void (*found)(void *arg, pid_t tid),
                             void *arg) {
    h->in_step = true;
    for (const struct hd_poll_thread *t = h->threads; t != NULL; t = t->next) {
        const struct hd_hook_thread *s = &t->turn.shown;
        if (!t->unwatched && s->known && !s->waits && s->since_ns <= before_ns + s->earlier_ns) {
            found(arg, t->tid);
        }
    }
    h->in_step = false;
    sweep(h);
}

uint32_t hd_poll_hook_free_places(const struct hd_hook *h) {
    return h->count < h->most ? h->most - h->count : 0;
}

void hd_poll_hook_times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    const struct hd_poll_thread *t = find(h, tid);
    *out = t != NULL && kind < HD_HOOK_KINDS ? t->kinds.kind[kind].times : (struct hd_wait_times){0};
}

/* The hook arms by itself: before that a thread that runs is not known to be in a long turn. */
void hd_poll_hook_suspect(struct hd_hook *h, pid_t tid, bool on) {
    (void)h, (void)tid, (void)on;
}

int hd_poll_hook_descriptor(struct hd_hook *h) {
    (void)h;
    return -1;
}

/* ---- looks -------------------------------------------------------------------------------------------- */

static void look(struct hd_hook *h, struct hd_poll_thread *t, uint64_t now_ns) {
    struct hd_poll_seen seen;
    int rc = hd_poll_thread_look(t, h->prove, &seen);
    if (rc == -ESRCH) {
        t->ended = true;
        h->events.thread_ended(h->events.arg, t->tid, now_ns);
    }
    if (rc != 0) {
        return;
    }
    if (seen.turn_ended && seen.turn.end_ns - seen.turn.start_ns >= h->long_ns) {
        h->events.turn(h->events.arg, t->tid, &seen.turn);
    }
    if (seen.new_kind && !t->unwatched) {
        h->events.sight(h->events.arg, t->tid, &seen.sight);
    }
}

void hd_poll_hook_step(struct hd_hook *h, uint64_t now_ns) {
    h->in_step = true;
    for (struct hd_poll_thread *t = h->threads; t != NULL; t = t->next) {
        if (!t->unwatched && !t->ended) {
            look(h, t, now_ns);
        }
    }
    h->in_step = false;
    sweep(h);
}
