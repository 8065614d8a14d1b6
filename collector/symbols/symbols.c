/* SPDX-License-Identifier: MIT */
#include "collector/symbols/symbols.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/error.h"
#include "collector/symbols/retries.h"
#include "collector/symbols/worker_run.h"

#define REPORTS_AT_ONCE 64
#define ROUND_MS 60000 /* the longest that a call of symbols_wake before the store had the report costs */
#define START_PAUSE_MS 3000

struct symbols {
    struct store *store;
    struct debug_folder *folder;
    const json_t *schema;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool is_woken;
    atomic_bool stopping;
    atomic_ullong named, unnamed, set_aside, failed;
    bool is_starved, said_starved; /* the last worker could not be started */
    struct retries retries;
    char build[DEBUG_FILES_MAX][DEBUG_ID_BYTES];
    char report[REPORTS_AT_ONCE][ROW_ID_CHARS + 1];
};

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- one job ---------------------------------------------------------------------------------- */

/* The report with the names that the worker found goes into the store. False: the store failed. */
static bool put_back(struct symbols *s, const char *id, const char *text, size_t bytes) {
    struct row row;
    struct schema_fault fault;
    bool fits = row_make(text, bytes, s->schema, &row, &fault) && strcmp(row.id, id) == 0;
    bool stored = true;
    if (fits) {
        stored = store_replace(s->store, &row) == STORE_DONE;
        atomic_fetch_add(stored ? &s->named : &s->unnamed, 1);
    }
    row_free(&row);
    return stored;
}

/* A worker that cannot be started, or that ends without a verdict, says nothing of the file or the report:
 * the job is tried again. False: not any more. `report`: "" is the check of the file. */
static bool try_again(struct symbols *s, const char *build, const char *report,
                      const struct worker_result *r) {
    bool again = true;
    if (r->end == WORKER_NOT_STARTED) {
        if (!s->said_starved) {
            print_error("debug files wait: %s", r->why);
        }
        s->is_starved = s->said_starved = true;
        return true;
    }
    atomic_fetch_add(&s->failed, 1);
    again = r->end == WORKER_STOPPED && retries_add(&s->retries, build, report, now_ms());
    if (report[0] == '\0') {
        print_error("the debug file %s is not checked%s: %s", build,
                    again ? " yet" : ", and is not used until the collector starts again", r->why);
    } else if (!again) {
        print_error("report %s gets no names of the debug file %s: %s", report, build, r->why);
    }
    return again;
}

/* Whether the file was checked, or passes now. No report has a say in it. */
static bool is_usable(struct symbols *s, const char *build) {
    struct worker_result r;
    if (debug_folder_state(s->folder, build).is_checked) {
        return true;
    }
    if (s->is_starved || retries_waits(&s->retries, build, "", now_ms())) {
        return false;
    }
    worker_check(debug_folder_path(s->folder), build, &r);
    s->said_starved &= r.end == WORKER_NOT_STARTED;
    if (r.end == WORKER_DONE) {
        retries_end(&s->retries, build, "");
        debug_folder_set_checked(s->folder, build);
    } else if (r.end == WORKER_BAD_FILE) {
        retries_end(&s->retries, build, "");
        debug_folder_set_aside(s->folder, build, r.why);
        atomic_fetch_add(&s->set_aside, 1);
        print_error("the debug file %s is set aside, as %s/%s.bad: %s", build, debug_folder_path(s->folder),
                    build, r.why);
    } else {
        try_again(s, build, "", &r);
    }
    return r.end == WORKER_DONE;
}

/* False: the report waits for another try. */
static bool name_report(struct symbols *s, const char *build, const char *id) {
    size_t bytes = 0;
    char *text = store_report(s->store, id, &bytes);
    struct worker_result r = {.end = WORKER_DONE};
    bool done = true;
    if (text != NULL) {
        worker_name(debug_folder_path(s->folder), text, bytes, &r);
        s->said_starved &= r.end == WORKER_NOT_STARTED;
    }
    if (r.end != WORKER_DONE) {
        done = !try_again(s, build, id, &r);
    } else if (r.named != NULL && (r.bytes != bytes || memcmp(r.named, text, bytes) != 0)) {
        put_back(s, id, r.named, r.bytes);
    } else {
        atomic_fetch_add(&s->unnamed, 1);
    }
    free(r.named);
    free(text);
    return done;
}

/* ---- all jobs --------------------------------------------------------------------------------- */

/* All reports that wait for one file. A report that ends the worker costs that report its names, no other. */
static void name_all_of(struct symbols *s, const char *build) {
    int count;
    for (bool more = true;
         more && (count = store_unnamed(s->store, build, s->report, REPORTS_AT_ONCE)) > 0;) {
        more = false;
        for (int i = 0; i < count; i++) {
            if (atomic_load(&s->stopping) || s->is_starved) {
                return;
            }
            if (retries_waits(&s->retries, build, s->report[i], now_ms()) ||
                !name_report(s, build, s->report[i])) {
                continue;
            }
            if (!store_end_unnamed(s->store, build, s->report[i])) {
                return; /* a full disk: the next round tries again */
            }
            retries_end(&s->retries, build, s->report[i]);
            more = true;
        }
    }
}

/* Until there is work, or a job may be tried again. */
static bool wait_for_work(struct symbols *s) {
    int64_t start = now_ms(), at = retries_next_ms(&s->retries, start + ROUND_MS);
    at = s->is_starved ? start + START_PAUSE_MS : at;
    const struct timespec until = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000};
    pthread_mutex_lock(&s->lock);
    while ((s->is_starved || !s->is_woken) && !atomic_load(&s->stopping) &&
           pthread_cond_timedwait(&s->work, &s->lock, &until) == 0) {
    }
    s->is_woken = false;
    pthread_mutex_unlock(&s->lock);
    s->is_starved = false;
    return !atomic_load(&s->stopping);
}

static void *name_until_stop(void *symbols) {
    struct symbols *s = symbols;
    do {
        int count = debug_folder_list(s->folder, s->build, DEBUG_FILES_MAX);
        for (int i = 0; i < count && !atomic_load(&s->stopping); i++) {
            if (is_usable(s, s->build[i])) {
                name_all_of(s, s->build[i]);
            }
        }
    } while (wait_for_work(s));
    return NULL;
}

struct symbols *symbols_start(struct store *store, struct debug_folder *folder, const json_t *schema) {
    struct symbols *s = calloc(1, sizeof *s);
    pthread_condattr_t clock;
    if (s == NULL) {
        return NULL;
    }
    s->store = store;
    s->folder = folder;
    s->schema = schema;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* the wall clock may be set back */
    pthread_cond_init(&s->work, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&s->thread, NULL, name_until_stop, s) != 0) {
        free(s);
        return NULL;
    }
    return s;
}

void symbols_stop(struct symbols *s) {
    if (s == NULL) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stopping, true);
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void symbols_wake(struct symbols *s) {
    pthread_mutex_lock(&s->lock);
    s->is_woken = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

struct symbols_counts symbols_counted(const struct symbols *s) {
    return (struct symbols_counts){atomic_load(&s->named), atomic_load(&s->unnamed),
                                   atomic_load(&s->set_aside), atomic_load(&s->failed)};
}
