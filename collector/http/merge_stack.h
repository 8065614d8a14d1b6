/* SPDX-License-Identifier: MIT
 *
 * The call trees of many reports as one, by the names that grouping compares: where a group's time goes.
 * Reports are hostile input. One thread.
 */
#ifndef COLLECTOR_MERGE_STACK_H
#define COLLECTOR_MERGE_STACK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct merge_stack;
struct schema_rule;

/* `rule`: of the reports' schema; NULL: they are read the slow way. NULL: no memory. */
struct merge_stack *merge_stack_new(const struct schema_rule *rule);
/* Adds the tree of a report's JSON text, or its hot stack where it has no tree. */
void merge_stack_add(void *merge, const char *text, size_t bytes);
/* The same, and the report counts as if it had this duration. */
void merge_stack_add_as(struct merge_stack *merge, const char *text, size_t bytes, int64_t as_ms);
/* The innermost functions first, each with its own time, and their callers below them. Frees `merge`. NULL:
 * no memory. */
struct merge_stack *merge_stack_invert(struct merge_stack *merge);
/* {"reports":2,"total_ms":1802,"nodes":[{"name","place","module","own","parent","ms"}...]}: a parent stands
 * before its children, -1 is the parent of the outermost. Frees it. */
json_t *merge_stack_end(struct merge_stack *merge);

#endif
