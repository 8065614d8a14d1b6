/* SPDX-License-Identifier: MIT */
#include "cli/base/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PENDING 4096

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == '\0' && strtol(text, NULL, 10) <= UINT16_MAX;
}

/* All addresses that "HOST:PORT", "[V6]:PORT" or ":PORT" may mean. NULL: another form. The caller frees the
 * result. */
static struct addrinfo *find_addresses(const char *listen_to) {
    char host[256];
    const char *colon = strrchr(listen_to, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen_to) : 0;
    bool bracketed = length >= 2 && listen_to[0] == '[' && colon[-1] == ']';
    size_t of_host = bracketed ? length - 2 : length;
    if (colon == NULL || !is_port(colon + 1) || of_host >= sizeof host || (bracketed && of_host == 0)) {
        return NULL;
    }
    snprintf(host, sizeof host, "%.*s", (int)of_host, listen_to + bracketed);
    if (!bracketed && strchr(host, ':') != NULL) { /* "::1": which colon is the port's? */
        return NULL;
    }
    const struct addrinfo hints = {.ai_flags = AI_NUMERICSERV | AI_PASSIVE | (bracketed ? AI_NUMERICHOST : 0),
                                   .ai_family = bracketed ? AF_INET6 : AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    return getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found) == 0 ? found : NULL;
}

/* Of ":PORT" a socket of IPv6 takes both; where there is no IPv6, one of IPv4 follows. */
static int open_one(const struct addrinfo *at, bool takes_both) {
    const int on = 1, off = 0;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (at->ai_family != AF_INET6 || !takes_both ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
        bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, PENDING) == 0) {
        return fd;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int listener_open(const char *listen_to, struct problem *why) {
    struct addrinfo *all = find_addresses(listen_to);
    if (all == NULL) {
        error_set(why, "cannot listen at '%.200s': want ADDR:PORT, as 127.0.0.1:8437", listen_to);
        return -1;
    }
    /* A name's address of IPv4 comes first, for it is the one that is typed; of all addresses IPv6 has both.
     */
    const bool takes_both = listen_to[0] == ':';
    const int first = takes_both ? AF_INET6 : AF_INET;
    int fd = -1, error = 0;
    for (int round = 0; fd < 0 && round < 2; round++) {
        for (const struct addrinfo *at = all; fd < 0 && at != NULL; at = at->ai_next) {
            if ((at->ai_family == first) == (round == 0)) {
                fd = open_one(at, takes_both);
                error = fd < 0 && error != EADDRINUSE ? errno : error;
            }
        }
    }
    freeaddrinfo(all);
    if (fd < 0) {
        error_set(why, "cannot listen at %.200s: %s", listen_to, strerror(error));
    }
    return fd;
}

uint16_t listener_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.v6 = {0}};
    socklen_t bytes = sizeof at;
    if (getsockname(fd, &at.any, &bytes) != 0) {
        return 0;
    }
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}
