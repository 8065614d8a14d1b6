/* SPDX-License-Identifier: MIT
 *
 * A thread as the fake kernel knows it, and its suspension by a signal of the host.
 */
#ifndef APPLE_LOADER_THREAD_H
#define APPLE_LOADER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate.h"

#define THREADS 600
#define THREAD_DEPTH 32
#define THREAD_TLS 16
#define THREAD_KEYS 64

enum thread_life {
    THREAD_FREE,
    THREAD_STARTS,
    THREAD_RUNS,
    THREAD_ENDED
};

/* The registers of a suspended thread. */
struct thread_registers {
    uint64_t pc, sp, flags;
    uint64_t general[31]; /* arm64: x0 to x30. x86-64: rax, rbx, rcx, rdx, rdi, rsi, rbp, rsp, r8 to r15 */
};

struct thread {
    uint64_t pthread_word[8]; /* a pthread_t points here */
    _Atomic int life;
    int tid; /* of the host */
    uint32_t port;
    uint64_t id;
    pthread_t host;
    char name[64];
    uint64_t stack_top, stack_bytes;
    /* the gate */
    struct gate_registers *frames[THREAD_DEPTH];
    uint32_t imports[THREAD_DEPTH];
    _Atomic int depth;
    _Atomic int in_kernel; /* above 0: the thread has a lock of the fake kernel, so it is suspended later */
    _Atomic int blocked;   /* in a call that waits */
    uint64_t ran_ns, runs_since; /* CPU time up to the last wait, and the time since which the thread runs */
    int suspends;                /* threads that this one has suspended now */
    uint64_t fault;              /* the result of a call that was made to fail */
    /* suspension */
    _Atomic int suspend_lock;
    _Atomic int suspend_count;
    uint64_t suspended_at;
    _Atomic uint32_t stop_requested; /* the number of the suspension; 0: none. A futex, as the next is */
    _Atomic uint32_t stopped;        /* the number of the suspension that the thread is in, or was in last */
    struct thread_registers registers;
    /* library */
    uint64_t run, argument, result;
    uint8_t *tls[THREAD_TLS];
    void *keys[THREAD_KEYS];
    int error; /* errno as Darwin's numbers */
    bool detached;
    bool wants_detached;
    uint64_t cpu_at_query, time_at_query;
};

extern __thread struct thread *thread_self;

/* The calling host thread becomes a thread of the fake kernel. */
struct thread *thread_adopt(void);
/* A new entry, whose host thread calls thread_start later. */
struct thread *thread_new(void);
void thread_started(struct thread *t);
void thread_ended(struct thread *t);
/* In a child of fork, which has the calling thread only. */
void thread_forked(void);
struct thread *thread_at(int index);
int thread_limit(void);
/* NULL: no running or ended thread has this port. */
struct thread *thread_of_port(uint32_t port);

/* Code that has a lock of the fake kernel is never suspended inside. */
void kernel_enter(void);
void kernel_leave(void);

void thread_suspend_install(void);
/* Return a kern_return_t. */
int thread_suspend(struct thread *t);
int thread_resume(struct thread *t);

/* The calling thread starts and ends a wait. Calls nest. */
void thread_block(void);
void thread_unblock(void);

/* CPU time in ns, as on a machine with a CPU for each thread: the time in which the thread neither waited nor
 * was suspended. So a busy host changes no result. thread_all_cpu_ns is the process's. */
uint64_t thread_all_cpu_ns(void);
uint64_t thread_cpu_ns(const struct thread *t);

void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *until);
void futex_wake(_Atomic uint32_t *word, int count);

/* tls.c */
void *tls_address(uint64_t *descriptor);

#endif
