/* SPDX-License-Identifier: MIT
 *
 * A Sentry event or session as a report, so that the store, the groups and the pages need no other form.
 * Events are hostile input. Pure but for the time of day.
 */
#ifndef COLLECTOR_SENTRY_REPORT_H
#define COLLECTOR_SENTRY_REPORT_H

#include <jansson.h>

/* NULL: it is neither an error nor a hang, as a message without an exception. `project`: the number of the
 * address, which names a program that does not name itself. The caller calls json_decref. */
json_t *sentry_report_of_event(const json_t *event, const char *project);

/* NULL: the session still lasts. */
json_t *sentry_report_of_session(const json_t *session, const char *project);

/* The reports' schema with the words that such reports have beyond it: the kind "error", and systems that are
 * not known. NULL: no memory. The caller calls json_decref. */
json_t *sentry_report_schema(const json_t *reports);

#endif
