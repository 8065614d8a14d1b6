/* SPDX-License-Identifier: MIT
 *
 * One request to the collector. One thread.
 */
#ifndef UPLOADER_SEND_H
#define UPLOADER_SEND_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"

struct sender;

/* `ca`: a file of certificates in place of the system's, NULL: none. `stop`: a transfer ends once it is not
 * 0. NULL, and why. */
struct sender *send_open(const char *url, const char *key, const char *ca, const volatile sig_atomic_t *stop,
                         struct problem *why);
void send_close(struct sender *s);

struct send_result {
    long status; /* of HTTP; 0: there was no answer, and `error` says why */
    int64_t retry_after_s;
    const char *error;
    const char *answer; /* the body's text; valid until the next request */
};

/* Sends a batch, a report a line, compressed. */
struct send_result send_batch(struct sender *s, const char *lines, size_t bytes);

#endif
