/* SPDX-License-Identifier: MIT
 *
 * Sentry's envelopes: one for each report, with an event of the platform "native". GlitchTip and Bugsink take
 * them, too.
 */
#ifndef CLI_EXPORT_SENTRY_H
#define CLI_EXPORT_SENTRY_H

#include <jansson.h>

/* An envelope of one report. `dsn`: the project's address, NULL: none. Caller frees; NULL: no memory. */
char *export_sentry_envelope(const json_t *report, const char *dsn);

/* The event of one report (sentry_event.c). `id`: the event's, 32 hexadecimal digits. The caller calls
 * json_decref; NULL: no memory. */
json_t *sentry_event_make(const json_t *report, const char *id);

#endif
