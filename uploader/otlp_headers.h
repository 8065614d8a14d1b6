/* SPDX-License-Identifier: MIT
 *
 * OTEL_EXPORTER_OTLP_HEADERS, "name=value,name=value": a collector's key stands there. Pure.
 */
#ifndef UPLOADER_OTLP_HEADERS_H
#define UPLOADER_OTLP_HEADERS_H

#include <stddef.h>

#define OTLP_HEADERS_MAX 8
#define OTLP_HEADER_BYTES 1024

struct otlp_headers {
    char line[OTLP_HEADERS_MAX][OTLP_HEADER_BYTES]; /* "name: value" */
    size_t count;
};

/* What is no header is left out; values are percent-decoded. `text` may be NULL. */
void otlp_headers_read(const char *text, struct otlp_headers *out);

#endif
