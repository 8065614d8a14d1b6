/* SPDX-License-Identifier: MIT
 *
 * Ten thousand samples by the library's own functions. No port leaks, and no call breaks the rule between
 * suspend and resume. Each stack leads to the function that the thread started with.
 */
#include <os/lock.h>
#include <pthread.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/watched_thread.h"
#include "os/os.h"
#include "unwind/unwind.h"
#include "watched.h"

#define SAMPLES 10000u
#define LIVE_REPORTS 200u
#define THREADS 3u

static volatile int stop;
static os_unfair_lock lock = OS_UNFAIR_LOCK_INIT;

struct life {
    pthread_t thread;
    void *memory;
    struct hd_mailbox *mailbox;
    struct hd_target target;
    hd_thread_id id;
    void (*work)(void);
    volatile int ready;
    uint64_t started_at; /* the start of the function that the stack must show */
    unsigned stacks, found, same;
};

/* Two short functions call each other, so most samples are in code that makes or leaves a frame. A walk that
 * skips a caller shows one of them below itself. `mix` has no frame on arm64. */
__attribute__((noinline)) static unsigned mix(unsigned x) {
    return x * 1664525u + 1013904223u;
}
static unsigned odd(unsigned x, unsigned depth);
__attribute__((noinline)) static unsigned even(unsigned x, unsigned depth) {
    return odd(x + depth, depth - 1) * 3u;
}
__attribute__((noinline)) static unsigned odd(unsigned x, unsigned depth) {
    return depth <= 1 ? mix(x) + 1 : even(x + depth, depth - 1) * 5u;
}
__attribute__((noinline)) static void run_on_cpu(void) {
    volatile unsigned x = 1;
    while (!stop) {
        x = even(x, 2 * (x % 10) + 2);
    }
}
static void sleep_often(void) {
    while (!stop) {
        nap_ms(3);
    }
}
static void wait_for_lock(void) {
    os_unfair_lock_lock(&lock);
    os_unfair_lock_unlock(&lock);
}

__attribute__((noinline)) static void *live(void *arg) {
    struct life *l = arg;
    l->id = hd_thread_id_self();
    CHECK_EQUAL(0, hd_capture_thread_enter(l->memory, &l->mailbox));
    l->ready = 1;
    l->work();
    CHECK_EQUAL(0, hd_capture_thread_leave(l->mailbox));
    return NULL;
}

static void life_start(struct life *l, void (*work)(void)) {
    *l = (struct life){.work = work, .started_at = (uint64_t)live};
    l->memory = hd_os_memory_take(hd_capture_thread_bytes());
    CHECK(l->memory != NULL);
    CHECK_EQUAL(0, pthread_create(&l->thread, NULL, live, l));
    while (!l->ready) {
        nap_ms(1);
    }
    l->target.watched = true;
    l->target.mailbox = l->mailbox;
    CHECK_EQUAL(0, hd_target_open(&l->target, l->id));
}

static void life_end(struct life *l) {
    pthread_join(l->thread, NULL);
    hd_target_close(&l->target);
    hd_capture_thread_closed(l->mailbox);
    hd_os_memory_give(l->memory, hd_capture_thread_bytes());
}

/* Whether the function that starts at `inner` is called by the one that starts at `outer`. */
static bool may_call(uint64_t inner, uint64_t outer) {
    uint64_t of_mix = (uint64_t)mix, of_even = (uint64_t)even, of_odd = (uint64_t)odd;
    return inner == of_mix    ? outer == of_odd
           : inner == of_odd  ? outer == of_even
           : inner == of_even ? outer == of_odd || outer == (uint64_t)run_on_cpu
                              : true;
}

static bool leads_to_start(struct hd_unwinder *u, const struct hd_capture *c, uint64_t start) {
    struct hd_frame frames[64];
    struct hd_walk walk;
    hd_unwind(u, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, frames, 64, &walk);
    bool found = false;
    for (uint32_t i = 0; i < walk.count; i++) {
        found = found || frames[i].start == start;
        if (i + 1 < walk.count && !may_call(frames[i].start, frames[i + 1].start)) {
            return false;
        }
    }
    return found && walk.stop == HD_STOP_ROOT;
}

static void sample(struct life *l, struct hd_unwinder *u) {
    struct hd_capture c;
    CHECK_EQUAL(0, hd_capture_take(&l->target, false, &c));
    if (c.same) {
        l->same++;
    } else if (c.stack_bytes > 0) {
        l->stacks++;
        l->found += leads_to_start(u, &c, l->started_at);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    static struct life lives[THREADS];
    static struct hd_modules modules;
    static char text[1 << 20];
    static void (*const works[THREADS])(void) = {run_on_cpu, sleep_often, wait_for_lock};
    hangdog_options o = {.size = sizeof o, .app_name = "samples", .spool = argv[1]};
    CHECK_EQUAL(0, hangdog_start(&o));
    os_unfair_lock_lock(&lock);
    struct hd_unwinder *u = calloc(1, hd_unwinder_bytes());
    hd_modules_init_live(&modules, -1);
    hd_unwinder_init(u, &modules);
    for (unsigned i = 0; i < THREADS; i++) {
        life_start(&lives[i], works[i]);
        sample(&lives[i], u);
    }
    CHECK(hangdog_report_now(text, sizeof text, HANGDOG_FORM_JSON) > 0);
    int names, before_names, before = port_references(&before_names);
    uint64_t begun = now_ns();
    for (unsigned i = 0; i < SAMPLES; i++) {
        sample(&lives[i % THREADS], u);
    }
    uint64_t sampled = now_ns();
    for (unsigned i = 0; i < LIVE_REPORTS; i++) {
        CHECK(hangdog_report_now(text, sizeof text, HANGDOG_FORM_JSON) > 0);
    }
    int after = port_references(&names);
    CHECK_EQUAL(before, after);
    CHECK_EQUAL(before_names, names);
    int (*lists)(void) = (int (*)(void))fake("fake_lists");
    CHECK_EQUAL(0, lists ? lists() : 0);
    stop = 1;
    os_unfair_lock_unlock(&lock);
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQUAL(lives[i].stacks, lives[i].found);
        printf("thread %u: %u stacks, %u of them whole, %u times the same\n", i, lives[i].stacks,
               lives[i].found, lives[i].same);
        life_end(&lives[i]);
    }
    printf("%u samples and %u live reports: %d references of ports before, %d after; %.1f us a sample\n",
           SAMPLES, LIVE_REPORTS, before, after, (double)(sampled - begun) / 1000 / SAMPLES);
    check_violations();
    CHECK_EQUAL(0, hangdog_stop());
    return failed_checks ? 1 : 0;
}
