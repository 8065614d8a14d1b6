/* SPDX-License-Identifier: MIT
 *
 * Summaries that have the same key as one row each.
 */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include <jansson.h>

/* What is equal in the rows of a group. The caller frees; NULL: no memory. */
typedef char *group_key(const json_t *summary);

/* An array of rows, by the time of their last summary. Each has the members of its newest summary that is no
 * brief repeat, and `count total_ns max_ns last_at`. */
json_t *groups_make(const json_t *summaries, group_key *key);

/* The sum of two times of reports, which may say anything: from 0 to the largest. */
json_int_t groups_add_times(json_int_t a, json_int_t b);

/* "A\nB\nC" of members that are texts, for a key. */
char *groups_key(const json_t *summary, const char *const *members);

#endif
