/* SPDX-License-Identifier: MIT
 *
 * Answers GET at a local socket, and at an address if the user wants that. The kernel says which user is at
 * the other end of the local socket. No thread of its own; it never waits. Ordinary code.
 */
#ifndef AGENT_SERVER_H
#define AGENT_SERVER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/base/error.h"

struct server;

#define SERVER_NOT_LOCAL ((uid_t)-1)

struct server_options {
    const char *path;   /* of the local socket */
    const char *listen; /* ADDRESS:PORT; NULL: only the local socket */
    void *arg;
    /* Writes the body. `user`: at the other end, or SERVER_NOT_LOCAL. Returns the content's type; NULL: there
     * is no such page. */
    const char *(*answer)(void *arg, const char *page, uid_t user, FILE *out);
};

/* NULL, and why. */
struct server *server_open(const struct server_options *options, struct problem *why);
void server_close(struct server *s); /* NULL: nothing */

/* The port at which figures are; 0: only the local socket is open. */
uint16_t server_port(const struct server *s);

/* Descriptors to poll; their number. */
#define SERVER_POLLED 18
size_t server_poll(const struct server *s, struct pollfd fds[SERVER_POLLED]);
/* Does what is possible now. */
void server_step(struct server *s, uint64_t now_ns);

#endif
