/* SPDX-License-Identifier: MIT
 *
 * The worker's memory of pools and their threads. On the worker thread.
 */
#ifndef HD_POOL_STATE_H
#define HD_POOL_STATE_H

#include "capture/arch/thread_files.h"
#include "report/report.h"
#include "turn/turn.h"
#include "watch/message.h"

#define HD_POOL_THREADS_MAX 128
#define HD_POOLS_MAX 16

enum hd_pool_kind {
    HD_POOL_NONE, /* the thread's stack is known, and is of no known pool */
    HD_POOL_OWN,  /* of the program: its threads wait for work at one condition variable or semaphore */
    HD_POOL_LIBUV,
    HD_POOL_PYTHON, /* concurrent.futures.ThreadPoolExecutor */
    HD_POOL_ANYIO,  /* worker threads of AnyIO, as FastAPI and Starlette use them */
    HD_POOL_GLIB,   /* GThreadPool, GTask */
    HD_POOL_KINDS
};

/* Where a thread is blocked. */
struct hd_pool_place {
    int32_t nr; /* of the system call */
    uint64_t word, sp, pc;
};

struct hd_pool_thread {
    hd_thread_id thread; /* none: the element is free */
    struct hd_thread_files files;
    struct hd_sched sched;
    struct hd_sched began;      /* when the worker first saw what the thread does now */
    struct hd_pool_place place; /* at the last read */
    struct hd_pool_place idle;  /* a known idle wait; nr HD_SYSCALL_NONE: none is known */
    uint64_t first_ns;          /* when the worker first saw the thread */
    uint64_t read_ns;           /* when the worker last read its state */
    uint64_t since_ns;          /* since when it has done what it does now, by estimate */
    uint64_t proved_ns;         /* the same, by proof: the first look that saw it */
    uint32_t leaf;              /* its stack in the tree of the stall's report */
    uint8_t pool;               /* index of the pool, plus 1; 0: of no pool */
    uint8_t tries;              /* how often its stack was read without success */
    uint16_t visits;            /* how often it came to the wait `idle` */
    bool settled; /* true: its stack says to which pool it belongs, or that it is of no known one */
    bool blocked, is_idle, stands, listed;
};

struct hd_pool {
    uint8_t kind; /* enum hd_pool_kind */
    uint64_t key; /* the futex word, the queue, or the pool's struct: two pools of a kind differ by it */
    uint64_t born_ns;
    uint64_t free_ns; /* when a thread was last seen in its idle wait */
    uint64_t full_ns; /* since when all its threads have been busy with the same work; 0: they are not */
    /* when a check last found that no work waits for the full pool; 0: no check since its newest work */
    uint64_t refuted_ns;
    uint64_t waits_ns; /* the first check after refuted_ns that found work that waits; 0: none */
    bool moved;        /* true: a loop has run since the last check */
    bool elastic;      /* threads come and go, so busy threads do not prove that work waits */
};

struct hd_pools {
    struct hd_pool_thread thread[HD_POOL_THREADS_MAX];
    struct hd_pool pool[HD_POOLS_MAX];
    uint32_t threads, pools;
    uint64_t marks;        /* hd_message.start_ticks of the last look */
    uint64_t listed_marks; /* the same, of the last list of the threads */
    uint64_t looked_ns;    /* when the last look was */
    uint64_t listed_ns;
    uint64_t list_cost_ns; /* CPU time of the last list of the threads */
    uint64_t visited_ns,
        visit_step_ns; /* when the waits of other threads were read, and when they are next */
    /* The stall with a report: turn.used is true. */
    struct hd_turn turn;
    struct hd_pool_seen seen;
    uint8_t stalled;     /* the index of the stalled pool */
    uint64_t charged_ns; /* until when the times of the stacks are charged */
    uint64_t captures;   /* hd_threads.captures, as the capture for this report left it */
    char name[16];
};

#endif
