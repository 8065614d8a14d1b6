/* SPDX-License-Identifier: MIT */
#include "collector/http/client_address.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* IPv4 stands in IPv6's form, as a socket of both has it. */
static void read_address(const struct sockaddr *from, uint64_t part[2]) {
    part[0] = part[1] = 0;
    if (from != NULL && from->sa_family == AF_INET) {
        part[1] = ntohl(((const struct sockaddr_in *)(const void *)from)->sin_addr.s_addr);
    } else if (from != NULL && from->sa_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6)) {
            uint32_t v4;
            memcpy(&v4, &v6->s6_addr[12], sizeof v4);
            part[1] = ntohl(v4);
        } else {
            memcpy(&part[0], v6->s6_addr, sizeof part[0]);
        }
    }
}

static struct client_address **bucket_of(struct client_addresses *all, const uint64_t part[2]) {
    uint64_t hash = (part[0] * UINT64_C(0x9e3779b97f4a7c15)) ^ (part[1] * UINT64_C(0xc2b2ae3d27d4eb4f));
    return &all->bucket[(hash >> 40) % CLIENT_ADDRESS_BUCKETS];
}

struct client_address *client_address_take(struct client_addresses *all, const struct sockaddr *from) {
    uint64_t part[2];
    read_address(from, part);
    struct client_address **bucket = bucket_of(all, part), *a = *bucket;
    while (a != NULL && (a->part[0] != part[0] || a->part[1] != part[1])) {
        a = a->next;
    }
    if (a == NULL && (a = calloc(1, sizeof *a)) != NULL) {
        memcpy(a->part, part, sizeof part);
        TAILQ_INIT(&a->waiting);
        a->next = *bucket;
        *bucket = a;
    }
    if (a != NULL) {
        a->count++;
        a->links++;
    }
    return a;
}

void client_address_drop(struct client_addresses *all, struct client_address *address) {
    if (--address->links > 0) {
        return;
    }
    struct client_address **at = bucket_of(all, address->part);
    while (*at != address) {
        at = &(*at)->next;
    }
    *at = address->next;
    free(address);
}
