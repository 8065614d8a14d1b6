/* SPDX-License-Identifier: MIT
 *
 * Numbers for texts: the same text has the same number. Formats have tables of strings, frames, functions.
 */
#ifndef CLI_EXPORT_INTERN_H
#define CLI_EXPORT_INTERN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct export_intern {
    json_t *index; /* text: number */
};

/* False: no memory. The caller frees in both cases. */
bool export_intern_init(struct export_intern *t);
void export_intern_free(struct export_intern *t);
size_t export_intern_count(const struct export_intern *t);

/* The text's number, from 0. *added: it was not there before. Without memory 0. */
size_t export_intern(struct export_intern *t, const char *text, bool *added);

#endif
