/* SPDX-License-Identifier: MIT */
#include "collector/upkeep/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/error.h"
#include "collector/upkeep/retention.h"

#define ROWS_OF_A_TRANSACTION 4000
#define ROWS_WAITING_MAX 40000
#define SETTLE_SECONDS 1     /* without reports */
#define RETENTION_SECONDS 60 /* between two looks for old reports */

struct writer {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct writer_job *first, **end; /* waiting */
    size_t waiting;                  /* rows of them */
    bool stopping;
    bool unsettled; /* reports were stored since the last call of store_settle */
    struct timespec
        look_at; /* next look for old reports; only the writer's thread uses this and `retention` */
    struct retention retention;
    atomic_bool well;
};

/* Takes jobs from the queue until they are enough for one transaction. The last one's next is NULL. */
static struct writer_job *take_jobs(struct writer *w, size_t *rows) {
    struct writer_job *taken = w->first, **last = &w->first;
    *rows = 0;
    while (*last != NULL && (*rows == 0 || *rows + (*last)->count <= ROWS_OF_A_TRANSACTION)) {
        *rows += (*last)->count;
        last = &(*last)->next;
    }
    struct writer_job *rest = *last;
    *last = NULL;
    w->first = rest;
    w->end = rest == NULL ? &w->first : w->end;
    w->waiting -= *rows;
    return taken;
}

static enum store_result write_jobs(struct writer *w, struct writer_job *jobs, size_t count) {
    struct row **rows = calloc(count + 1, sizeof(void *));
    size_t n = 0;
    if (rows == NULL) {
        return STORE_FAILED;
    }
    for (struct writer_job *job = jobs; job != NULL; job = job->next) {
        for (size_t i = 0; i < job->count; i++) {
            rows[n++] = &job->rows[i];
        }
    }
    enum store_result result = store_add(w->store, rows, n);
    free(rows);
    return result;
}

/* Says once that it went wrong, and once that it is well again. */
static void say_result(struct writer *w, enum store_result result) {
    bool well = result == STORE_DONE;
    if (atomic_exchange(&w->well, well) == well) {
        return;
    }
    if (!well) {
        print_error("cannot store reports: %s; senders keep theirs and try again", store_error(w->store));
    } else {
        fputs("hangdog: reports are stored again\n", stderr);
    }
}

static bool is_due(const struct timespec *t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

/* Waits for work, and takes it; NULL: there is none before the next look for old reports. */
static struct writer_job *await_jobs(struct writer *w, size_t *count, bool *stopped) {
    pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->stopping && !is_due(&w->look_at)) {
        struct timespec until = w->look_at;
        if (w->unsettled) {
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_sec += SETTLE_SECONDS;
        }
        if (pthread_cond_timedwait(&w->work, &w->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    struct writer_job *jobs = take_jobs(w, count);
    *stopped = jobs == NULL && w->stopping;
    pthread_mutex_unlock(&w->lock);
    return jobs;
}

static void answer_jobs(struct writer_job *jobs, enum store_result result) {
    for (struct writer_job *job = jobs, *next; job != NULL; job = next) {
        next = job->next; /* its owner may free it at once */
        job->result = result;
        job->done(job);
    }
}

static void *write_all(void *writer) {
    struct writer *w = writer;
    size_t count;
    bool stopped;
    for (;;) {
        struct writer_job *jobs = await_jobs(w, &count, &stopped);
        if (stopped) {
            return NULL;
        }
        if (jobs != NULL) {
            enum store_result result = write_jobs(w, jobs, count);
            say_result(w, result);
            answer_jobs(jobs, result);
        } else if (w->unsettled) {
            store_settle(w->store);
        }
        w->unsettled = jobs != NULL;
        /* A few old reports between two transactions: none waits for the removal of many. */
        if (is_due(&w->look_at) && !retention_step(&w->retention, w->store)) {
            clock_gettime(CLOCK_MONOTONIC, &w->look_at);
            w->look_at.tv_sec += RETENTION_SECONDS;
        }
    }
}

struct writer *writer_start(struct store *store) {
    struct writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->store = store;
    w->end = &w->first;
    atomic_init(&w->well, true);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&w->thread, NULL, write_all, w) != 0) {
        free(w);
        return NULL;
    }
    return w;
}

bool writer_add(struct writer *w, struct writer_job *job) {
    pthread_mutex_lock(&w->lock);
    bool takes = !w->stopping && w->waiting + job->count <= ROWS_WAITING_MAX;
    if (takes) {
        job->next = NULL;
        *w->end = job;
        w->end = &job->next;
        w->waiting += job->count;
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return takes;
}

void writer_stop(struct writer *w) {
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
}

void writer_free(struct writer *w) {
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->work);
    free(w);
}

bool writer_is_well(const struct writer *w) {
    return atomic_load(&w->well);
}
