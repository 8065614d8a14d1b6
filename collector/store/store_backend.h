/* SPDX-License-Identifier: MIT
 *
 * What keeps reports and groups: each function of store.h that reads or writes them goes to one of these. A
 * new query of a page is a member here, a function of the same name in store.c, and one in each backend.
 */
#ifndef COLLECTOR_STORE_STORE_BACKEND_H
#define COLLECTOR_STORE_STORE_BACKEND_H

#include "collector/store/store.h"

/* `at`: what the backend's open returned. */
struct store_backend {
    void (*close)(void *at);
    enum store_result (*add)(void *at, struct row *const *rows, size_t count);
    long (*remove_old)(void *at, int64_t before_ms, long max);
    const char *(*error)(const void *at);

    json_t *(*overview)(void *at, const char *app, int days);
    json_t *(*group)(void *at, const char *fingerprint);
    json_t *(*counts)(void *at);
    char *(*report)(void *at, const char *id, size_t *bytes);
    void (*each_report)(void *at, const char *fingerprint, int max,
                        void (*take)(void *to, const char *text, size_t bytes), void *to);
};

extern const struct store_backend sqlite_backend;

#endif
