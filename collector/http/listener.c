/* SPDX-License-Identifier: MIT */
#include "collector/http/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PENDING 4096

int listener_open(const char *listen_to, struct problem *why) {
    char host[128];
    const char *colon = strrchr(listen_to, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen_to) : 0;
    bool bracketed = length >= 2 && listen_to[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(bracketed ? length - 2 : length), listen_to + bracketed);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    if (colon == NULL || length == 0 || length >= sizeof host ||
        getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        error_set(why, "cannot listen at '%.200s': want ADDR:PORT, as 127.0.0.1:8437", listen_to);
        return -1;
    }
    const int on = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, PENDING) != 0) {
        error_set(why, "cannot listen at %.200s: %s", listen_to, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(found);
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
