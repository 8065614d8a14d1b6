/* SPDX-License-Identifier: MIT
 *
 * A collector of its own on a store, and one connection that asks it for pages. One thread.
 */
#ifndef BENCH_QUERY_CLIENT_H
#define BENCH_QUERY_CLIENT_H

#include <stddef.h>
#include <sys/types.h>

struct query_client {
    pid_t pid;
    int fd; /* the connection */
    char key[64];
};

/* 0, else it said why. query_client_end in both cases. */
int query_client_start(struct query_client *c, const char *store);
/* What is below /api/v1/. 0: it was answered by 200, with so many bytes. */
int query_client_get(const struct query_client *c, const char *path, size_t *bytes);
void query_client_end(struct query_client *c);

#endif
