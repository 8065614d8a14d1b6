/* SPDX-License-Identifier: MIT
 *
 * OpenTelemetry's logs as JSON (OTLP/HTTP, /v1/logs): a log record for each report, with its app as the
 * resource.
 */
#ifndef CLI_EXPORT_OTLP_H
#define CLI_EXPORT_OTLP_H

#include <jansson.h>

/* The request for an array of reports. Caller calls json_decref. NULL: no memory. */
json_t *export_otlp_request(const json_t *reports);

#endif
