/* SPDX-License-Identifier: MIT */
#include "collector/store/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct marks *marks_new(void) {
    return calloc(1, sizeof(struct marks));
}

void marks_free(struct marks *m) {
    if (m != NULL) {
        free(m->all);
        free(m);
    }
}

void marks_add(void *marks, const struct store_mark *mark) {
    struct marks *m = marks;
    if (m->count == m->size) {
        size_t size = m->size * 2 + 16;
        struct store_mark *grown = reallocarray(m->all, size, sizeof *grown);
        if (grown == NULL) {
            m->no_memory = true;
            return;
        }
        m->all = grown;
        m->size = size;
    }
    m->all[m->count++] = *mark;
}

static int by_fingerprint(const void *a, const void *b) {
    const struct store_mark *one = a, *other = b;
    return strcmp(one->fingerprint, other->fingerprint);
}

void marks_sort(struct marks *m) {
    if (m->count > 0) {
        qsort(m->all, m->count, sizeof *m->all, by_fingerprint);
    }
}

void marks_show(const struct marks *m, json_t *group) {
    const char *fingerprint = json_string_value(json_object_get(group, "fingerprint"));
    struct store_mark key = {.state = ""};
    const struct store_mark *found = NULL;
    if (fingerprint != NULL && strlen(fingerprint) < sizeof key.fingerprint && m->count > 0) {
        snprintf(key.fingerprint, sizeof key.fingerprint, "%s", fingerprint);
        found = bsearch(&key, m->all, m->count, sizeof key, by_fingerprint);
    }
    json_object_set_new(group, "state", json_string(found != NULL ? found->state : "open"));
    json_object_set_new(group, "regressed", json_boolean(found != NULL && found->is_regressed));
}

static bool has_state(const struct store_mark *mark, const char *state) {
    return state[0] == '\0' || strcmp(mark->state, state) == 0 ||
           (mark->is_regressed && strcmp(state, "open") == 0);
}

void marks_choose(const struct marks *m, const struct store_group_filter *filter, json_t **only,
                  json_t **without) {
    const char *state = filter->state != NULL ? filter->state : "";
    /* A group without a mark is open. */
    bool any_unmarked = !filter->only_regressed && (state[0] == '\0' || strcmp(state, "open") == 0);
    json_t *names = json_object();
    for (size_t i = 0; i < m->count; i++) {
        const struct store_mark *mark = &m->all[i];
        bool wanted = has_state(mark, state) && (mark->is_regressed || !filter->only_regressed);
        if (wanted != any_unmarked) {
            json_object_set_new(names, mark->fingerprint, json_true());
        }
    }
    *only = any_unmarked ? NULL : names;
    *without = any_unmarked ? names : NULL;
}
