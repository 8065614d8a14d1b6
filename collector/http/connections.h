/* SPDX-License-Identifier: MIT
 * The server's connections, with a deadline for the progress of each, and the choice of the one to cut if
 * there are too many. A client that sends a byte now and then is never idle. Without a deadline some thousand
 * of such clients would occupy all connections. Any thread.
 */
#ifndef COLLECTOR_CONNECTIONS_H
#define COLLECTOR_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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
/* Of all answers that clients have not read to their end. */
#define CONNECTIONS_ANSWERS_MAX ((size_t)256 << 20)

struct connection_limits {
    int64_t patience_ns;
    long all;         /* connections at once */
    long per_address; /* of them from one address, 0: any number */
};

/* Starts the thread that cuts the late ones. NULL: no memory, or no thread. */
struct connections *connections_start(const struct connection_limits *limits);
/* After the last connection has ended. */
void connections_stop(struct connections *all);

/* NULL: no memory. The socket must be open until connection_end returns. `from`: the client's address, or
 * NULL. With too many connections in all, or of the address, cuts the one
 * that has waited longest without a whole request head. If none of the address waits, cuts the new one. */
struct connection *connection_begin(struct connections *all, int fd, const struct sockaddr *from);
void connection_end(struct connection *c);
void connection_set(struct connection *c, enum connection_state state);

/* Counts an answer of so many bytes until connections_end_answer. False: the clients that read have too much;
 * the slowest one is cut, and this answer must not be sent. Small answers always may. */
bool connections_take_answer(struct connections *all, size_t bytes);
void connections_end_answer(struct connections *all, size_t bytes);
/* CONNECTION_ANSWERED, with an answer of so many bytes. */
void connection_set_answered(struct connection *c, size_t bytes);
/* NULL for NULL. */
struct connections *connection_all(const struct connection *c);

/* Requests that were received or are being received, and have no whole answer yet. */
unsigned connections_at_work(struct connections *all);
/* How many were cut because they were late, or too many. */
unsigned long long connections_cut(struct connections *all);

#endif
