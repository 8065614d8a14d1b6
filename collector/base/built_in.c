/* SPDX-License-Identifier: MIT */
#include "collector/base/built_in.h"

#include <string.h>

const struct built_in *built_in_find(const char *name) {
    for (const struct built_in *f = built_in_files; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

json_t *built_in_schema(void) {
    const struct built_in *file = built_in_find("report.schema.json");
    return file != NULL ? json_loadb((const char *)file->data, file->bytes, 0, NULL) : NULL;
}
