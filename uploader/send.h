/* SPDX-License-Identifier: MIT
 *
 * Requests to a collector, of ours or of others. One thread.
 */
#ifndef UPLOADER_SEND_H
#define UPLOADER_SEND_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"

#define SEND_HEADERS_MAX 12

/* How many bytes went out today, and how many may. A day is one of UTC. */
struct budget {
    char path[PATH_MAX]; /* of the file that has the day and its bytes */
    int64_t limit;       /* bytes a day */
};

/* The file is in the folder of the reports. False, and why. */
bool send_budget_open(struct budget *b, int64_t limit, struct problem *why);
/* Counts bytes that are to go out. False: they are more than the day has left, or cannot be counted. */
bool send_budget_take(const struct budget *b, size_t bytes);

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
/* True: the text starts with http:// or https:// */
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

/* Repeats a request until it has a final answer, or the attempts are used up, or the sender is to stop. */
struct send_result send_until(struct sender *s, const void *body, size_t bytes, long retries);

/* Waits so many seconds, or until the sender is to stop. */
void send_wait(const struct sender *s, int64_t seconds);

/* The wait before the next attempt: exponential back-off with full jitter, so that many machines do not come
 * back at the same time. Pure. */
#define RETRY_FIRST_MS 500
#define RETRY_MOST_MS 60000

/* `attempt`: 0 after the first one failed. `random`: any number. `retry_after_s`: of Retry-After, 0 for none;
 * the wait is not shorter than that. */
int64_t send_retry_wait_ms(unsigned attempt, uint64_t random, int64_t retry_after_s);

#endif
