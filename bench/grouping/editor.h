/* SPDX-License-Identifier: MIT
 *
 * The editor's handlers: one a bug. Each hangs for BUG_MS.
 */
#ifndef GROUPING_EDITOR_H
#define GROUPING_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "versions.h"

/* The hang has lasted for long enough. */
bool over(void);
void sleep_ms(int ms);
/* Calls `call` after BUG_MS on a thread of its own. */
void later(void (*call)(void *), void *argument);
extern volatile unsigned sink;

struct handler {
    const char *event;
    void (*handle)(void);
};

extern const struct handler computing[], waiting[]; /* each ends with NULL */

#endif
