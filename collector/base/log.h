/* SPDX-License-Identifier: MIT
 *
 * The log: a line for each request and event on stderr, as words or as JSON. The log has no key: headers and
 * the query part of an address are not written, and text that looks like a key is masked. Any thread.
 */
#ifndef COLLECTOR_LOG_H
#define COLLECTOR_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_form {
    LOG_OFF,
    LOG_TEXT,
    LOG_JSON
};

struct log_request {
    const char *method, *path, *address;
    unsigned status;
    size_t bytes;   /* of the body, as received */
    size_t reports; /* accepted reports */
    int64_t key;    /* the key's number in the store; 0: none */
    int64_t took_ns;
};

void log_set(enum log_form form);
void log_request(const struct log_request *r);
/* Anything else: "start", "stop", "certificate". */
void log_event(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `text` as a JSON string in `out`, cut to what has room, its keys masked. */
void log_quote(const char *text, char *out, size_t size);

#endif
