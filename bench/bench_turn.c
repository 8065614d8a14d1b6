/* SPDX-License-Identifier: MIT
 *
 * What a turn of a loop costs more when the loop is watched: a turn that waits for one eventfd and reads it,
 * and a turn that finds nothing with a zero timeout. Beside both the floor: the counter and one store where
 * the marks are.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "hangdog/hangdog.h"
#include "os/ticks.h"

enum {
    PLAIN,
    WATCHED,
    FLOOR,
    VARIANTS
};

struct setup {
    hangdog_loop *loop;
    int event_fd, epoll_fd;
};

static _Atomic uint64_t word;

static inline void floor_mark(void) {
    atomic_store_explicit(&word, hd_ticks_read(), memory_order_relaxed);
}

static inline void ready(const struct setup *s) {
    uint64_t one = 1;
    if (write(s->event_fd, &one, sizeof one) != sizeof one) {
        perror("hangdog-bench: write to an eventfd");
    }
}

static inline void serve(const struct setup *s) {
    uint64_t n;
    if (read(s->event_fd, &n, sizeof n) != sizeof n) {
        perror("hangdog-bench: read of an eventfd");
    }
}

/* ---- waits for and reads one eventfd -------------------------------------------------------- */

static double waiting_plain(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        ready(s);
        epoll_wait(s->epoll_fd, &event, 1, -1);
        serve(s);
    }
    return (double)(bench_now_ns() - from);
}

static double waiting_watched(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        ready(s);
        hangdog_before_wait(s->loop);
        epoll_wait(s->epoll_fd, &event, 1, -1);
        hangdog_after_wait(s->loop);
        serve(s);
    }
    return (double)(bench_now_ns() - from);
}

static double waiting_floor(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        ready(s);
        floor_mark();
        epoll_wait(s->epoll_fd, &event, 1, -1);
        floor_mark();
        serve(s);
    }
    return (double)(bench_now_ns() - from);
}

/* ---- finds nothing -------------------------------------------------------------------------- */

static double empty_plain(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        epoll_wait(s->epoll_fd, &event, 1, 0);
    }
    return (double)(bench_now_ns() - from);
}

static double empty_watched(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        epoll_wait(s->epoll_fd, &event, 1, 0);
        hangdog_turn(s->loop);
    }
    return (double)(bench_now_ns() - from);
}

static double empty_floor(void *arg, unsigned repeats) {
    const struct setup *s = arg;
    struct epoll_event event;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        epoll_wait(s->epoll_fd, &event, 1, 0);
        floor_mark();
    }
    return (double)(bench_now_ns() - from);
}

/* --------------------------------------------------------------------------------------------- */

static int measure(struct setup *s, const char *name, const bench_variant *variants, unsigned repeats,
                   double target) {
    struct bench_rounds r = {
        .count = VARIANTS, .rounds = bench_options.fast ? 300 : 2000, .repeats = repeats};
    int rc = bench_rounds_run(&r, variants, s);
    if (rc == 0) {
        double more = 100 * bench_rounds_more(&r, WATCHED, PLAIN) / r.median[PLAIN];
        double least = 100 * bench_rounds_more(&r, FLOOR, PLAIN) / r.median[PLAIN];
        bench_report(name, more, "%", target, more <= target, "counter and store", least);
        if (bench_options.verbose) {
            fprintf(stderr, "%s: a turn %.1f ns, watched %.1f ns, with counter and store %.1f ns\n", name,
                    r.median[PLAIN], r.median[WATCHED], r.median[FLOOR]);
        }
    }
    bench_rounds_free(&r);
    return rc;
}

static int open_files(struct setup *s) {
    struct epoll_event event = {.events = EPOLLIN};
    s->event_fd = eventfd(0, EFD_CLOEXEC);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->event_fd < 0 || s->epoll_fd < 0 ||
        epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->event_fd, &event) != 0) {
        fprintf(stderr, "hangdog-bench: cannot make an eventfd and an epoll instance: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}

int bench_turn(void) {
    static const bench_variant waiting[VARIANTS] = {waiting_plain, waiting_watched, waiting_floor};
    static const bench_variant empty[VARIANTS] = {empty_plain, empty_watched, empty_floor};
    struct setup s;
    char folder[BENCH_PATH];
    if (open_files(&s) != 0 || bench_folder_make(folder) != 0) {
        return 1;
    }
    s.loop = bench_watch(folder, 0);
    int rc = s.loop != NULL ? measure(&s, "turn.waiting", waiting, 400, 5) : 1;
    rc = rc == 0 ? measure(&s, "turn.empty", empty, 2000, 20) : rc;
    hangdog_stop();
    bench_folder_remove(folder);
    close(s.epoll_fd);
    close(s.event_fd);
    int rc_preload = bench_turn_preload();
    return rc != 0 ? rc : rc_preload;
}
