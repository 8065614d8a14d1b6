/* SPDX-License-Identifier: MIT
 *
 * The server's connections, and until when each must have come further. A client that sends a byte now and
 * then is never idle: without a deadline it would keep its place, and some thousand of them every place. Any
 * thread.
 */
#ifndef COLLECTOR_CONNECTIONS_H
#define COLLECTOR_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct connections;
struct connection;

enum connection_state {
    CONNECTION_WAITS,   /* for the next request's head, which may take `patience_ns` */
    CONNECTION_SENDS,   /* a body comes, which may take CONNECTIONS_BODY_S */
    CONNECTION_SERVED,  /* we work: no deadline */
    CONNECTION_ANSWERED /* the client reads the answer, which may take CONNECTIONS_ANSWER_S */
};
#define CONNECTIONS_BODY_S 60
#define CONNECTIONS_ANSWER_S 300

/* Starts the thread that cuts the late ones. NULL: no memory, or no thread. */
struct connections *connections_start(int64_t patience_ns);
/* After the last connection has ended. */
void connections_stop(struct connections *all);

/* NULL: no memory. The socket must be open until connection_end returns. */
struct connection *connection_begin(struct connections *all, int fd);
void connection_end(struct connection *c);
void connection_set(struct connection *c, enum connection_state state);

/* Requests that were received or are being received, and have no whole answer yet. */
unsigned connections_at_work(struct connections *all);
/* How many were cut because they were late. */
unsigned long long connections_cut(struct connections *all);

#endif
