/* SPDX-License-Identifier: MIT
 *
 * Clients' addresses, each with the connections that it has. The caller has the lock.
 */
#ifndef COLLECTOR_CLIENT_ADDRESS_H
#define COLLECTOR_CLIENT_ADDRESS_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define CLIENT_ADDRESS_BUCKETS 1024

struct connection;
TAILQ_HEAD(connection_list, connection);

struct client_address {
    struct client_address *next;
    uint64_t part[2];
    long count;                     /* connections that were not cut */
    long links;                     /* all of them */
    struct connection_list waiting; /* for a head, the longest first */
};

struct client_addresses {
    struct client_address *bucket[CLIENT_ADDRESS_BUCKETS];
};

/* That of a new connection; of IPv6 the network's half: a client has all of it. NULL: no memory. */
struct client_address *client_address_take(struct client_addresses *all, const struct sockaddr *from);
/* Of a connection that has ended. */
void client_address_drop(struct client_addresses *all, struct client_address *address);

#endif
