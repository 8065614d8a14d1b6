/* SPDX-License-Identifier: MIT */
#include "collector/http/work_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "collector/base/monotonic.h"

#define STACK_BYTES ((size_t)8 << 20)

struct work_pool {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work;
    struct work_job *first, **end;
    bool stopping;
    unsigned count;
    pthread_t thread[];
};

int64_t work_pool_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * MONOTONIC_S + t.tv_nsec;
}

/* Waits for a job; NULL: there is none any more. */
static struct work_job *take_job(struct work_pool *pool, bool *was_stopped) {
    pthread_mutex_lock(&pool->lock);
    while (pool->first == NULL && !pool->stopping) {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    struct work_job *job = pool->first;
    *was_stopped = pool->stopping;
    if (job != NULL) {
        pool->first = job->next;
        pool->end = pool->first == NULL ? &pool->first : pool->end;
    }
    pthread_mutex_unlock(&pool->lock);
    return job;
}

static void *run_jobs(void *arg) {
    struct work_pool *pool = arg;
    bool was_stopped;
    for (struct work_job *job; (job = take_job(pool, &was_stopped)) != NULL;) {
        job->is_late = was_stopped || monotonic_ns() - job->added_ns > WORK_POOL_LATE_S * MONOTONIC_S;
        job->run(job);
    }
    return NULL;
}

static bool start_threads(struct work_pool *pool, unsigned threads) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (pool->count < threads && pthread_create(&pool->thread[pool->count], &attr, run_jobs, pool) == 0) {
        pool->count++;
    }
    pthread_attr_destroy(&attr);
    return pool->count == threads;
}

struct work_pool *work_pool_start(unsigned threads) {
    struct work_pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->thread[0]);
    if (pool == NULL) {
        return NULL;
    }
    pool->end = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    if (!start_threads(pool, threads)) {
        work_pool_free(pool);
        return NULL;
    }
    return pool;
}

bool work_pool_add(struct work_pool *pool, struct work_job *job) {
    job->added_ns = monotonic_ns();
    job->next = NULL;
    pthread_mutex_lock(&pool->lock);
    bool takes = !pool->stopping;
    if (takes) {
        *pool->end = job;
        pool->end = &job->next;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return takes;
}

void work_pool_stop(struct work_pool *pool) {
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (; pool->count > 0; pool->count--) {
        pthread_join(pool->thread[pool->count - 1], NULL);
    }
}

void work_pool_free(struct work_pool *pool) {
    work_pool_stop(pool);
    if (pool != NULL) {
        pthread_cond_destroy(&pool->work);
        pthread_mutex_destroy(&pool->lock);
        free(pool);
    }
}
