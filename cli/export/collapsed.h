/* SPDX-License-Identifier: MIT
 *
 * Collapsed stacks: "app;thread;main;lookup 900000000", outermost first, nanoseconds. A line for each
 * stack.
 */
#ifndef CLI_EXPORT_COLLAPSED_H
#define CLI_EXPORT_COLLAPSED_H

#include <jansson.h>
#include <stdio.h>

/* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
int export_collapsed(FILE *out, const json_t *reports);

#endif
