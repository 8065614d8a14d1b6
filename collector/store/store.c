/* SPDX-License-Identifier: MIT */
#include "collector/store/store.h"

#include <stdlib.h>
#include <string.h>

#include "collector/store/sqlite.h"
#include "collector/store/store_backend.h"

struct store {
    const struct store_backend *backend;
    void *reports;        /* the backend's */
    struct sqlite *state; /* keys and settings; the same as `reports` where these are in SQLite */
};

const char *store_file_of(const char *url) {
    static const char scheme[] = "sqlite:";
    if (strncmp(url, scheme, sizeof scheme - 1) == 0) {
        return url + sizeof scheme - 1;
    }
    return strstr(url, "://") == NULL ? url : NULL;
}

struct store *store_open(const struct store_place *place, struct problem *why) {
    const char *file = store_file_of(place->url);
    if (file == NULL) {
        error_set(why, "cannot open the store %s: want a file or sqlite:FILE", place->url);
        return NULL;
    }
    struct store *s = calloc(1, sizeof *s);
    struct sqlite *state = s != NULL ? sqlite_open(file, place->limit_mib, why) : NULL;
    if (state == NULL) {
        if (s == NULL) {
            error_set(why, "cannot open the store %s: out of memory", place->url);
        }
        free(s);
        return NULL;
    }
    *s = (struct store){.backend = &sqlite_backend, .reports = state, .state = state};
    return s;
}

void store_close(struct store *s) {
    if (s == NULL) {
        return;
    }
    s->backend->close(s->reports);
    if (s->reports != s->state) {
        sqlite_close(s->state);
    }
    free(s);
}

const char *store_error(const struct store *s) {
    return s->backend->error(s->reports);
}

enum store_result store_add(struct store *s, struct row *const *rows, size_t count) {
    return s->backend->add(s->reports, rows, count);
}

long store_remove_old(struct store *s, int64_t before_ms, long max) {
    return s->backend->remove_old(s->reports, before_ms, max);
}

/* ---- keys and settings ---- */

int store_keys(struct store *s, struct store_key *keys, int max) {
    return sqlite_keys(s->state, keys, max);
}

bool store_add_key(struct store *s, enum key_use use, const uint8_t hash[SHA256_BYTES]) {
    return sqlite_add_key(s->state, use, hash);
}

bool store_setting_get(struct store *s, const char *name, char value[STORE_SETTING_BYTES]) {
    return sqlite_setting_get(s->state, name, value);
}

bool store_setting_set(struct store *s, const char *name, const char *value) {
    return sqlite_setting_set(s->state, name, value);
}

/* ---- pages ---- */

json_t *store_overview(struct store *s, const char *app, int days) {
    return s->backend->overview(s->reports, app, days);
}

json_t *store_group(struct store *s, const char *fingerprint) {
    return s->backend->group(s->reports, fingerprint);
}

json_t *store_counts(struct store *s) {
    return s->backend->counts(s->reports);
}

char *store_report(struct store *s, const char *id, size_t *bytes) {
    return s->backend->report(s->reports, id, bytes);
}

void store_each_report(struct store *s, const char *fingerprint, int max,
                       void (*take)(void *to, const char *text, size_t bytes), void *to) {
    s->backend->each_report(s->reports, fingerprint, max, take, to);
}
