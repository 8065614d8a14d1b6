/* SPDX-License-Identifier: MIT
 *
 * Reports that fit the schema and cost as much as they can: to take in, to render, to export. And what an
 * action costs in CPU time of this thread.
 */
#ifndef TEST_COSTLY_REPORTS_H
#define TEST_COSTLY_REPORTS_H

#include <jansson.h>
#include <stddef.h>

struct costly {
    const char *name;
    json_t *(*make)(void); /* the caller calls json_decref */
};

/* The last one has no name. */
extern const struct costly costly_reports[];

/* The report of that name. */
json_t *costly_report(const char *name);

/* Milliseconds of CPU time that this thread has used. */
double costly_cpu_ms(void);

#endif
