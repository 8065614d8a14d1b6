/* SPDX-License-Identifier: MIT
 *
 * hangdog export --send: reports go to Sentry, or to a collector of OpenTelemetry. One thread.
 */
#ifndef UPLOADER_EXPORT_SEND_H
#define UPLOADER_EXPORT_SEND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* With the arguments of `hangdog export`. The exit status. */
int export_send_main(int argc, char **argv, const volatile sig_atomic_t *stop);

/* The address of a project of Sentry's: https://KEY@HOST/PROJECT. */
#define SENTRY_DSN_BYTES 1024

struct sentry_dsn {
    char address[SENTRY_DSN_BYTES]; /* for envelopes */
    char key[128];                  /* the public one */
};

/* False: not such an address. Pure. */
bool export_send_parse_dsn(const char *dsn, struct sentry_dsn *out);

/* OTEL_EXPORTER_OTLP_HEADERS, "name=value,name=value", which may have a collector's key. */
#define OTLP_HEADERS_MAX 8
#define OTLP_HEADER_BYTES 1024

struct otlp_headers {
    char line[OTLP_HEADERS_MAX][OTLP_HEADER_BYTES]; /* "name: value" */
    size_t count;
};

/* Skips what is not a header; percent-decodes the values. `text` may be NULL. Pure. */
void export_send_read_headers(const char *text, struct otlp_headers *out);

#endif
