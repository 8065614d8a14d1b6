/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <err.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "port.h"

__thread struct thread *thread_self;

static struct thread threads[THREADS];
static _Atomic int limit;
static _Atomic uint64_t ended_ns; /* CPU time of threads that have ended */
static _Atomic uint64_t next_id = 1;

void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *until) {
    /* `until` is a time of CLOCK_MONOTONIC. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void kernel_enter(void) {
    if (thread_self) {
        thread_self->in_kernel++;
    }
}

void kernel_leave(void) {
    if (thread_self) {
        thread_self->in_kernel--;
    }
}

/* An entry that another thread ended long ago is used again. */
static struct thread *entry_take(void) {
    for (int i = 0; i < THREADS; i++) {
        int expected = THREAD_FREE;
        if (atomic_compare_exchange_strong(&threads[i].life, &expected, THREAD_STARTS)) {
            int old = limit;
            while (old <= i && !atomic_compare_exchange_weak(&limit, &old, i + 1)) {
            }
            return &threads[i];
        }
    }
    errx(2, "more than %d threads", THREADS);
}

struct thread *thread_new(void) {
    struct thread *t = entry_take();
    memset((char *)t + offsetof(struct thread, tid), 0, sizeof *t - offsetof(struct thread, tid));
    /* Ids have more than 32 bits, so that a cut one is seen. */
    t->id = 0x500000000ull + atomic_fetch_add(&next_id, 1) * 17;
    t->pthread_word[0] = (uint64_t)t;
    t->port = port_new(PORT_THREAD, t);
    return t;
}

static void stack_read(struct thread *t) {
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &bytes);
        pthread_attr_destroy(&attr);
    }
    t->stack_top = (uint64_t)low + bytes;
    t->stack_bytes = bytes;
}

void thread_started(struct thread *t) {
    t->tid = (int)syscall(SYS_gettid);
    t->host = pthread_self();
    stack_read(t);
    t->runs_since = clocks_uptime_ns();
    thread_self = t;
    t->life = THREAD_RUNS;
}

struct thread *thread_adopt(void) {
    struct thread *t = thread_new();
    thread_started(t);
    return t;
}

void thread_ended(struct thread *t) {
    ended_ns += thread_cpu_ns(t);
    t->life = THREAD_ENDED; /* a suspender that is at work sees it */
    while (atomic_exchange(&t->suspend_lock, 1)) {
        sched_yield();
    }
    t->suspend_lock = 0;
    for (int i = 0; i < THREAD_TLS; i++) {
        if (t->tls[i]) {
            munmap(t->tls[i], 65536);
        }
    }
    port_object_ended(t->port);
    thread_self = NULL;
    if (t->detached) {
        t->life = THREAD_FREE;
    }
}

void thread_forked(void) {
    thread_self->tid = (int)syscall(SYS_gettid);
    for (int i = 0; i < THREADS; i++) {
        if (&threads[i] != thread_self && threads[i].life != THREAD_FREE) {
            port_object_ended(threads[i].port);
            threads[i].life = THREAD_FREE;
        }
    }
}

struct thread *thread_at(int index) {
    return &threads[index];
}

int thread_limit(void) {
    return limit;
}

struct thread *thread_of_port(uint32_t port) {
    struct thread *t = port_object(port, PORT_THREAD);
    return t && t->port == port ? t : NULL;
}

void thread_block(void) {
    struct thread *t = thread_self;
    if (t->blocked == 0) {
        t->ran_ns += clocks_uptime_ns() - t->runs_since;
    }
    t->blocked++;
}

/* A thread that was suspended in its wait stays in it. */
void thread_unblock(void) {
    struct thread *t = thread_self;
    if (t->blocked == 1) {
        t->runs_since = clocks_uptime_ns();
    }
    t->blocked--;
    uint32_t request;
    while (t->blocked == 0 && (request = t->stop_requested) != 0) {
        futex_wait(&t->stop_requested, request, NULL);
    }
}

uint64_t thread_cpu_ns(const struct thread *t) {
    uint64_t now = clocks_uptime_ns();
    return t->ran_ns + (t->blocked || now < t->runs_since ? 0 : now - t->runs_since);
}

uint64_t thread_all_cpu_ns(void) {
    uint64_t sum = ended_ns;
    for (int i = 0; i < limit; i++) {
        sum += threads[i].life == THREAD_RUNS ? thread_cpu_ns(&threads[i]) : 0;
    }
    return sum;
}
