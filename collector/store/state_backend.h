/* SPDX-License-Identifier: MIT
 * The backend for keys, settings and notes about groups. Each function of store.h for them calls a function
 * of this table. Any thread.
 */
#ifndef COLLECTOR_STORE_STATE_BACKEND_H
#define COLLECTOR_STORE_STATE_BACKEND_H

#include "collector/store/store.h"

/* `at`: what the backend's open returned. Each is as the function of store.h that calls it. */
struct state_backend {
    void (*close)(void *at);
    int (*keys)(void *at, struct store_key *keys, int max);
    int64_t (*add_key)(void *at, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]);
    enum store_found (*remove_key)(void *at, int64_t id);
    bool (*count_key)(void *at, int64_t id, int64_t used_ms, int64_t day, int64_t reports);
    enum store_found (*setting_get)(void *at, const char *name, char value[STORE_SETTING_BYTES]);
    bool (*setting_set)(void *at, const char *name, const char *value);
    enum store_found (*issue_get)(void *at, const char *fingerprint, struct store_issue *issue);
    bool (*issue_set)(void *at, const char *fingerprint, const struct store_issue *issue);
    /* Calls `take` for each group that is not open. False: they cannot be read. */
    bool (*marks)(void *at, void (*take)(void *to, const struct store_mark *mark), void *to);
};

extern const struct state_backend sqlite_state;

#endif
