/* SPDX-License-Identifier: MIT
 *
 * The states of groups, and which groups a filter by state chooses. They are few: a group that no person
 * touched is open, and has none. Pure; one thread.
 */
#ifndef COLLECTOR_STORE_MARKS_H
#define COLLECTOR_STORE_MARKS_H

#include "collector/store/store.h"

struct marks {
    struct store_mark *all;
    size_t count, size;
    bool no_memory;
};

/* NULL: no memory. marks_free takes NULL. */
struct marks *marks_new(void);
void marks_free(struct marks *m);

/* Adds a copy; `marks` is a struct marks *, as state_backend.h has it. */
void marks_add(void *marks, const struct store_mark *mark);
/* Once all were added: marks_show looks groups up. */
void marks_sort(struct marks *m);

/* Sets `state` and `regressed` of a group that has a `fingerprint`. */
void marks_show(const struct marks *m, json_t *group);

/* Sets *only and *without as struct store_group_filter has them; the caller frees both by json_decref. */
void marks_choose(const struct marks *m, const struct store_group_filter *filter, json_t **only,
                  json_t **without);

#endif
