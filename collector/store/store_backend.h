/* SPDX-License-Identifier: MIT
 * The backend for reports and groups. Each function of store.h for them calls a function of this table. A new
 * query of a page is a member here, a function of the same name in store.c, and one in each backend.
 */
#ifndef COLLECTOR_STORE_STORE_BACKEND_H
#define COLLECTOR_STORE_STORE_BACKEND_H

#include "collector/store/store.h"

/* `at`: what the backend's open returned. */
struct store_backend {
    void (*close)(void *at);
    enum store_result (*add)(void *at, struct row *const *rows, size_t count);
    long (*remove_old)(void *at, int64_t before_ms, long max);
    /* NULL: unknown. */
    int64_t (*about_reports)(void *at);
    /* NULL: what add took is in its place. */
    void (*settle)(void *at);
    /* NULL: it has only the groups of the rule that they came under. */
    long (*regroup)(void *at, const json_t *schema, long max);
    /* The members up to `end_unnamed` may be NULL, in a backend that cannot change stored reports. */
    enum store_result (*replace)(void *at, struct row *row);
    long (*erase)(void *at, const struct store_erasure *what, const json_t *schema, int64_t *from, long rows);
    int (*unnamed)(void *at, const char *build_id, char (*ids)[ROW_ID_CHARS + 1], int max);
    bool (*end_unnamed)(void *at, const char *build_id, const char *id);
    /* Two groups that the last call of `regroup` moved a report between; false: no more. NULL: it moves what
     * people say of a group itself. */
    bool (*next_move)(void *at, char from[GROUPING_HEX + 1], char to[GROUPING_HEX + 1]);
    const char *(*error)(const void *at);

    json_t *(*overview)(void *at, const struct store_group_filter *filter);
    json_t *(*groups)(void *at, const struct store_group_filter *filter);
    json_t *(*versions)(void *at, const char *app);
    json_t *(*origins)(void *at, const struct store_origin_filter *filter);
    json_t *(*group)(void *at, const char *fingerprint);
    json_t *(*kinds)(void *at, const char *app, int days);
    json_t *(*compare)(void *at, const char *app, const char *from, const char *to);
    json_t *(*search)(void *at, const char *words, const char *app, long offset);
    json_t *(*counts)(void *at);
    json_t *(*reports)(void *at, const struct store_filter *filter);
    void *(*report_body)(void *at, const char *id, size_t *bytes);
    void (*each_report)(void *at, const struct store_filter *filter,
                        void (*take)(void *to, const char *text, size_t bytes), void *to);
    /* NULL: a query for each group takes no longer. */
    void (*each_of_groups)(void *at, const struct store_groups *of,
                           void (*take)(void *to, size_t group, const char *text, size_t bytes), void *to);
    /* Sets `is_regressed` of each resolved mark. Regressed: a version equal to or later than `resolved_in`
     * has a report of this group that began after the resolution. */
    void (*find_regressed)(void *at, struct store_mark *marks, size_t count);
};

extern const struct store_backend sqlite_backend;

#endif
