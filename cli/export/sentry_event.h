/* SPDX-License-Identifier: MIT
 *
 * A report as Sentry's event. Ordinary code.
 */
#ifndef CLI_EXPORT_SENTRY_EVENT_H
#define CLI_EXPORT_SENTRY_EVENT_H

#include <jansson.h>

/* `id`: the event's, 32 hexadecimal digits. Caller calls json_decref; NULL: no memory. */
json_t *sentry_event_make(const json_t *report, const char *id);

#endif
