/* SPDX-License-Identifier: MIT
 *
 * The collector's HTTP server. libmicrohttpd's threads call it; a request that waits for the writer is
 * suspended, so that no thread waits with it.
 */
#ifndef COLLECTOR_HTTP_H
#define COLLECTOR_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/error.h"
#include "collector/keys/keys.h"
#include "collector/store/store.h"
#include "collector/upkeep/writer.h"

struct http;

struct http_options {
    int listener;        /* of listener_open; http_start closes it, also where it fails */
    const char *symbols; /* the folder of debug files */
    bool tls;            /* with what tls_load has loaded */
    long connections;    /* at once */
    long per_address;    /* of them from one address, 0: any number */
    int64_t patience_ns; /* for the head of a request */
};

/* NULL, and why. */
struct http *http_start(const struct http_options *o, struct store *store, struct writer *writer,
                        struct keys *keys, struct problem *why);
/* Takes no more connections and reports, and waits for requests that have come: `seconds` at most. */
void http_stop_listening(struct http *h, int seconds);
/* Ends the connections, too: after the writer has answered. */
void http_stop(struct http *h);

#endif
