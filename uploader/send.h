/* SPDX-License-Identifier: MIT
 *
 * Requests to a collector, of ours or of others. One thread.
 */
#ifndef UPLOADER_SEND_H
#define UPLOADER_SEND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"
#include "uploader/budget.h"

#define SEND_HEADERS_MAX 12

struct sender;

/* Where to, and the request's headers; the last one may be NULL. */
struct send_target {
    const char *address;
    const char *header[SEND_HEADERS_MAX];
};

/* `ca`: a file of certificates in place of the system's, NULL: none. `stop`: a transfer ends once it is not
 * 0. NULL, and why. */
struct sender *send_open(const struct send_target *t, const char *ca, const volatile sig_atomic_t *stop,
                         struct problem *why);
/* The same to a collector of ours. */
struct sender *send_open_collector(const char *url, const char *key, const char *ca,
                                   const volatile sig_atomic_t *stop, struct problem *why);
/* The same for debug files; send_set_address says where to, before each request. */
struct sender *send_open_symbols(const char *url, const char *key, const char *ca,
                                 const volatile sig_atomic_t *stop, struct problem *why);
void send_set_address(struct sender *s, const char *address);
void send_close(struct sender *s);
const volatile sig_atomic_t *send_stop(const struct sender *s);
/* It begins with http:// or https:// */
bool send_is_url(const char *text);

#define SEND_OVER_BUDGET (-1) /* a status: the day has no bytes left for it, and nothing was sent */

struct send_result {
    long status;           /* of HTTP; 0: there was no answer, and `error` says why */
    int64_t retry_after_s; /* for which the collector wants no other request; 0: none */
    const char *error;
    const char *answer; /* the body's text; valid until the next request */
};

/* Each request counts; NULL: none. Borrowed. */
void send_set_budget(struct sender *s, const struct budget *budget);
/* One request. */
struct send_result send_body(struct sender *s, const void *body, size_t bytes);
/* Sends a batch, a report a line, compressed; as often as `retries` allows. */
struct send_result send_batch(struct sender *s, const char *lines, size_t bytes, long retries);

#endif
