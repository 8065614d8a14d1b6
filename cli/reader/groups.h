/* SPDX-License-Identifier: MIT
 *
 * Summaries that have the same key as one row each.
 */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include <jansson.h>

/* The key that all rows of a group have. The caller frees; NULL: no memory. */
typedef char *group_key(const json_t *summary);

/* An array of rows, by the time of their last summary. A row has the members of the group's newest summary
 * (not a brief repeat), and `count total_ns max_ns last_at`. */
json_t *groups_make(const json_t *summaries, group_key *key);

/* The sum of two times, saturated: a report may have any numbers. */
json_int_t groups_add_times(json_int_t a, json_int_t b);

/* "A\nB\nC" of members that are texts, for a key. */
char *groups_key(const json_t *summary, const char *const *members);

#endif
