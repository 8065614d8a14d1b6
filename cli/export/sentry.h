/* SPDX-License-Identifier: MIT
 *
 * Sentry's envelopes: one for each report, with an event of the platform "native". GlitchTip and Bugsink take
 * them, too.
 */
#ifndef CLI_EXPORT_SENTRY_H
#define CLI_EXPORT_SENTRY_H

#include <jansson.h>
#include <stdio.h>

/* An envelope of one report. `dsn`: the project's address, NULL: none. Caller frees; NULL: no memory. */
char *export_sentry_envelope(const json_t *report, const char *dsn);
/* Writes an envelope for each of an array of reports. 0, or -1 with errno: no memory, or `out` cannot be
 * written. */
int export_sentry(FILE *out, const json_t *reports);

#endif
