/* SPDX-License-Identifier: MIT
 * Threads for long work: to read sent reports, to render a report. The threads of libmicrohttpd never wait
 * for such work, so that they answer /healthz and pages under load. Any thread.
 */
#ifndef COLLECTOR_WORK_POOL_H
#define COLLECTOR_WORK_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct work_pool;

struct work_job {
    void (*run)(struct work_job *job); /* on a thread of the pool; it may free the job */
    bool is_late;                      /* waited for WORK_POOL_LATE_S: the client has probably given up */
    int64_t added_ns;
    struct work_job *next;
};

#define WORK_POOL_LATE_S 20

/* NULL: no memory, or no thread. */
struct work_pool *work_pool_start(unsigned threads);
/* Jobs run in the order in which they came. False: the pool takes none any more. */
bool work_pool_add(struct work_pool *pool, struct work_job *job);
/* Runs what waits, and ends the threads. NULL is fine. */
void work_pool_stop(struct work_pool *pool);
/* After the last work_pool_add; it stops the pool. NULL is fine. */
void work_pool_free(struct work_pool *pool);

/* CPU time that this thread has used. */
int64_t work_pool_cpu_ns(void);

#endif
