/* SPDX-License-Identifier: MIT
 *
 * The address of a project of Sentry's: https://KEY@HOST/PROJECT. Pure.
 */
#ifndef UPLOADER_SENTRY_DSN_H
#define UPLOADER_SENTRY_DSN_H

#include <stdbool.h>

#define SENTRY_DSN_BYTES 1024

struct sentry_dsn {
    char address[SENTRY_DSN_BYTES]; /* for envelopes */
    char key[128];                  /* the public one */
};

/* False: it is none. */
bool sentry_dsn_parse(const char *dsn, struct sentry_dsn *out);

#endif
