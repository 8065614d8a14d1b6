/* SPDX-License-Identifier: MIT
 * Recognises a Sentry exception that means a hang. Sentry has no kind for hangs: each client library sends
 * hangs as errors with other words. Pure.
 */
#ifndef COLLECTOR_SENTRY_HANG_H
#define COLLECTOR_SENTRY_HANG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sentry_hang {
    bool is_hang, is_fatal;
    int64_t duration_ns; /* at least; 0: not known */
};

struct sentry_hang sentry_hang_of(const json_t *exception);

#endif
