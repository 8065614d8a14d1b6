/* SPDX-License-Identifier: MIT */
#include "cli/export/intern.h"

bool export_intern_init(struct export_intern *t) {
    t->index = json_object();
    return t->index != NULL;
}

void export_intern_free(struct export_intern *t) {
    json_decref(t->index);
    t->index = NULL;
}

size_t export_intern_count(const struct export_intern *t) {
    return json_object_size(t->index);
}

size_t export_intern(struct export_intern *t, const char *text, bool *added) {
    const json_t *known = json_object_get(t->index, text);
    size_t number = json_object_size(t->index);
    *added = known == NULL;
    if (known != NULL) {
        return (size_t)json_integer_value(known);
    }
    return json_object_set_new(t->index, text, json_integer((json_int_t)number)) == 0 ? number : 0;
}
