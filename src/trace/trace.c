/* SPDX-License-Identifier: MIT
 *
 * The functions that -finstrument-functions calls. The program's threads: a table for each, mapped at its
 * first call, added to the sum when the thread ends. A lock is taken then, and at no other call.
 */
#include "trace/trace.h"

#include <pthread.h>

#include "hangdog/trace.h"
#include "os/os.h"
#include "os/ticks.h"
#include "trace/trace_file.h"

/* The names that the compiler calls. */
#define EXPORTED_AS(name) __asm__(name) __attribute__((visibility("default")))
void hd_trace_on_enter(void *function, void *call_site) EXPORTED_AS("__cyg_profile_func_enter");
void hd_trace_on_exit(void *function, void *call_site) EXPORTED_AS("__cyg_profile_func_exit");

struct thread {
    struct thread *next;
    struct hd_trace_calls calls;
};

static struct {
    _Atomic bool on;
    bool by_counter;
    pthread_key_t key;
    pthread_mutex_t lock;
    struct thread *threads;       /* that run */
    struct hd_trace_calls *ended; /* the sum of the others */
    uint64_t count;
    uint64_t start_ticks, start_ns, start_wall_ns;
    _Atomic uint64_t launched; /* ticks */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .launched = HD_TRACE_LAUNCHING};

static __thread struct thread *own __attribute__((tls_model("initial-exec")));
static __thread bool beginning __attribute__((tls_model("initial-exec")));

static inline uint64_t ticks_now(void) {
    return __builtin_expect(all.by_counter, 1) ? hd_ticks_read() : hd_os_now_ns();
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Starts a thread's trace at the first call. `beginning` stops recursion: functions called here may be traced
 * too. */
static struct thread *begin_thread(void) {
    if (beginning || !atomic_load_explicit(&all.on, memory_order_relaxed)) {
        return NULL;
    }
    beginning = true;
    struct thread *t = hd_os_memory_take(sizeof *t);
    if (t != NULL && pthread_setspecific(all.key, t) == 0) {
        pthread_mutex_lock(&all.lock);
        t->next = all.threads;
        all.threads = t;
        all.count++;
        pthread_mutex_unlock(&all.lock);
        own = t;
    }
    beginning = false;
    return own;
}

static void take_out(const struct thread *t) {
    for (struct thread **p = &all.threads; *p != NULL; p = &(*p)->next) {
        if (*p == t) {
            *p = t->next;
            return;
        }
    }
}

/* A destructor of the program's that runs later begins anew. */
static void end_thread(void *thread) {
    struct thread *t = thread;
    own = NULL;
    pthread_mutex_lock(&all.lock);
    hd_trace_merge(all.ended, &t->calls, ticks_now(), hd_trace_get(&all.launched));
    take_out(t);
    pthread_mutex_unlock(&all.lock);
    hd_os_memory_give(t, sizeof *t);
}

/* ---- the calls ------------------------------------------------------------------------------ */

void hd_trace_on_enter(void *function, void *call_site) {
    struct thread *t = own;
    (void)call_site;
    if (__builtin_expect(t == NULL, 0) && (t = begin_thread()) == NULL) {
        return;
    }
    _Atomic uint64_t *start = hd_trace_enter(&t->calls, (uint64_t)(uintptr_t)function);
    if (start != NULL) {
        hd_trace_set(start, ticks_now());
    }
}

void hd_trace_on_exit(void *function, void *call_site) {
    uint64_t now = ticks_now();
    (void)call_site;
    if (own != NULL) {
        hd_trace_exit(&own->calls, (uint64_t)(uintptr_t)function, now, hd_trace_get(&all.launched));
    }
}

void hangdog_trace_launched(void) {
    uint64_t launching = HD_TRACE_LAUNCHING;
    atomic_compare_exchange_strong(&all.launched, &launching, ticks_now());
}

/* ---- the process ---------------------------------------------------------------------------- */

static void start_clocks(void) {
    all.start_ticks = ticks_now();
    all.start_ns = hd_os_now_ns();
    all.start_wall_ns = hd_os_wall_ns();
}

static void before_fork(void) {
    pthread_mutex_lock(&all.lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&all.lock);
}

/* The tables are wiped: what the parent called is the parent's. */
static void in_child(void) {
    all.threads = own;
    all.count = own != NULL;
    hd_trace_set(&all.launched, HD_TRACE_LAUNCHING);
    start_clocks();
    pthread_mutex_unlock(&all.lock);
}

__attribute__((constructor(101))) static void begin_process(void) {
    hd_os_clock_init();
    all.by_counter = hd_os_ticks_steady();
    all.ended = hd_os_memory_take(sizeof *all.ended);
    if (all.ended == NULL || pthread_key_create(&all.key, end_thread) != 0) {
        return;
    }
    pthread_atfork(before_fork, after_fork, in_child);
    start_clocks();
    atomic_store(&all.on, true);
}

/* After the program's own destructors. Threads that still run are read as they are. */
__attribute__((destructor(101))) static void end_process(void) {
    if (!atomic_exchange(&all.on, false)) {
        return;
    }
    uint64_t now = ticks_now(), now_ns = hd_os_now_ns(), launched = hd_trace_get(&all.launched);
    uint64_t rate = now > all.start_ticks ? hd_ticks_ratio_32(now_ns - all.start_ns, now - all.start_ticks)
                                          : UINT64_C(1) << 32;
    pthread_mutex_lock(&all.lock);
    for (const struct thread *t = all.threads; t != NULL; t = t->next) {
        hd_trace_merge(all.ended, &t->calls, now, launched);
    }
    hd_trace_write(&(struct hd_trace){
        .calls = all.ended,
        .threads = all.count,
        .started_wall_ns = all.start_wall_ns,
        .duration_ns = now_ns - all.start_ns,
        .launch_ns = launched != HD_TRACE_LAUNCHING ? hd_ticks_to_ns(launched - all.start_ticks, rate) : 0,
        .ns_per_tick_32 = rate,
    });
    pthread_mutex_unlock(&all.lock);
}
