/* SPDX-License-Identifier: MIT
 *
 * The kinds of reports, in one table made of src/base/words.def. Pure.
 */
#ifndef COLLECTOR_REPORT_KIND_H
#define COLLECTOR_REPORT_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Its duration is time hung. */
bool kind_is_hang(const char *kind);

/* Pages list its reports by kind. Those of the kind `hang` are listed by group, and sessions are counted. */
bool kind_is_listed(const char *kind);

/* Its reports are in no group of another kind. */
bool kind_has_own_groups(const char *kind);

/* The kinds that only the collector has, beyond docs/report.schema.json; NULL at the end. */
extern const char *const kind_foreign[];

/* "launch, cpu or live": the listed kinds, for a person. Cut where it is longer. */
void kind_write_listed(char *text, size_t size);

#endif
