/* SPDX-License-Identifier: MIT */
#include "collector/symbols/symbols.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/error.h"
#include "collector/symbols/worker_run.h"

#define REPORTS_AT_ONCE 64

struct symbols {
    struct store *store;
    struct debug_folder *folder;
    const json_t *schema;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool is_woken;
    atomic_bool stopping;
    atomic_ullong named, unnamed, failed;
    char build[DEBUG_FILES_MAX][DEBUG_ID_BYTES];
    char report[REPORTS_AT_ONCE][ROW_ID_CHARS + 1];
};

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

/* False: the worker failed. */
static bool name_report(struct symbols *s, const char *build, const char *id) {
    size_t bytes = 0, named_bytes = 0;
    char why[128] = "", *text = store_report(s->store, id, &bytes);
    char *named =
        text != NULL ? worker_run(debug_folder_path(s->folder), build, text, bytes, &named_bytes, why) : NULL;
    bool worked = text == NULL || named != NULL;
    if (!worked) {
        atomic_fetch_add(&s->failed, 1);
        print_error("the debug file %s is removed, report %s has no names of it: %s", build, id, why);
    } else if (named != NULL && (named_bytes != bytes || memcmp(named, text, bytes) != 0)) {
        put_back(s, id, named, named_bytes);
    } else {
        atomic_fetch_add(&s->unnamed, 1);
    }
    free(named);
    free(text);
    return worked;
}

/* All reports that wait for one file. A file that ends the worker costs this one job: it is removed, and the
 * other reports go on waiting for a better one. */
static void name_all_of(struct symbols *s, const char *build) {
    int count;
    while (!atomic_load(&s->stopping) &&
           (count = store_unnamed(s->store, build, s->report, REPORTS_AT_ONCE)) > 0) {
        for (int i = 0; i < count && !atomic_load(&s->stopping); i++) {
            if (!name_report(s, build, s->report[i])) {
                debug_folder_remove(s->folder, build);
                return;
            }
            if (!store_end_unnamed(s->store, build, s->report[i])) {
                return; /* a full disk: the next round tries again */
            }
        }
    }
}

/* A minute is the longest that a call of symbols_wake before the store had the report costs. */
static bool wait_for_work(struct symbols *s) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&s->lock);
    while (!s->is_woken && !atomic_load(&s->stopping) &&
           pthread_cond_timedwait(&s->work, &s->lock, &until) == 0) {
    }
    s->is_woken = false;
    pthread_mutex_unlock(&s->lock);
    return !atomic_load(&s->stopping);
}

static void *name_until_stop(void *symbols) {
    struct symbols *s = symbols;
    do {
        int count = debug_folder_list(s->folder, s->build, DEBUG_FILES_MAX);
        for (int i = 0; i < count; i++) {
            name_all_of(s, s->build[i]);
        }
    } while (wait_for_work(s));
    return NULL;
}

struct symbols *symbols_start(struct store *store, struct debug_folder *folder, const json_t *schema) {
    struct symbols *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->store = store;
    s->folder = folder;
    s->schema = schema;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
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
    return (struct symbols_counts){atomic_load(&s->named), atomic_load(&s->unnamed), atomic_load(&s->failed)};
}
