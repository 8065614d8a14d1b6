/* SPDX-License-Identifier: MIT */
#include "fleet/ingest_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define ANSWER_BYTES 4096
#define CONNECTIONS_MAX 512

struct connection {
    int fd;
    const struct ingest_request *request; /* NULL: none is left for it */
    size_t sent, got;
    uint64_t began_ns;
    char answer[ANSWER_BYTES];
};

struct client {
    int epoll;
    const struct ingest_request *next, *end;
    struct ingest_result *out;
    size_t busy;
};

static int connect_to(uint16_t port) {
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* 0: all of it, or the socket's buffer is full. */
static int push(struct client *c, struct connection *at) {
    while (at->sent < at->request->size) {
        ssize_t n = send(at->fd, at->request->bytes + at->sent, at->request->size - at->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            break;
        }
        at->sent += (size_t)n;
    }
    if (at->sent < at->request->size && errno != EAGAIN) {
        perror("hangdog-bench: sending");
        return -1;
    }
    struct epoll_event e = {.events = at->sent < at->request->size ? EPOLLOUT : EPOLLIN, .data.ptr = at};
    return epoll_ctl(c->epoll, EPOLL_CTL_MOD, at->fd, &e);
}

static int start_next(struct client *c, struct connection *at) {
    at->request = c->next < c->end ? c->next++ : NULL;
    at->sent = at->got = 0;
    if (at->request == NULL) {
        c->busy--;
        return 0;
    }
    at->began_ns = bench_now_ns();
    return push(c, at);
}

/* 1: the answer is whole, 0: more is to come. */
static int pull(struct client *c, struct connection *at) {
    ssize_t n = recv(at->fd, at->answer + at->got, ANSWER_BYTES - 1 - at->got, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    if (n <= 0) {
        fprintf(stderr, "hangdog-bench: the collector closed a connection\n");
        return -1;
    }
    at->got += (size_t)n;
    at->answer[at->got] = '\0';
    const char *body = strstr(at->answer, "\r\n\r\n"), *length = strcasestr(at->answer, "content-length:");
    if (body == NULL || length == NULL ||
        at->got < (size_t)(body + 4 - at->answer) + strtoul(length + 15, NULL, 10)) {
        return 0;
    }
    const char *accepted = strstr(body, "\"accepted\":");
    if (strncmp(at->answer, "HTTP/1.1 200", 12) != 0 || accepted == NULL ||
        strtoul(accepted + 11, NULL, 10) != at->request->reports) {
        fprintf(stderr, "hangdog-bench: not all was stored: %.200s\n", at->answer);
        return -1;
    }
    c->out->stored += at->request->reports;
    c->out->ms[c->out->requests++] = (double)(bench_now_ns() - at->began_ns) / 1e6;
    return 1;
}

static int serve_event(struct client *c, struct connection *at) {
    if (at->request == NULL) {
        return 0;
    }
    if (at->sent < at->request->size) {
        return push(c, at);
    }
    int whole = pull(c, at);
    return whole > 0 ? start_next(c, at) : whole;
}

static int run(struct client *c, struct connection *all, size_t connections) {
    struct epoll_event events[64];
    for (size_t i = 0; i < connections; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
        if (all[i].fd < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, all[i].fd, &e) != 0) {
            perror("hangdog-bench: connecting");
            return -1;
        }
    }
    uint64_t began = bench_now_ns();
    c->busy = connections;
    for (size_t i = 0; i < connections; i++) {
        if (start_next(c, &all[i]) != 0) {
            return -1;
        }
    }
    while (c->busy > 0) {
        int n = epoll_wait(c->epoll, events, 64, 60000);
        if (n <= 0 && errno != EINTR) {
            fprintf(stderr, "hangdog-bench: no answer for a minute\n");
            return -1;
        }
        for (int i = 0; i < n; i++) {
            if (serve_event(c, events[i].data.ptr) != 0) {
                return -1;
            }
        }
    }
    c->out->seconds = (double)(bench_now_ns() - began) / 1e9;
    return 0;
}

int ingest_send(uint16_t port, size_t connections, const struct ingest_request *all, size_t count,
                struct ingest_result *out) {
    struct connection *c = calloc(connections, sizeof *c);
    *out = (struct ingest_result){.ms = calloc(count, sizeof(double))};
    if (c == NULL || out->ms == NULL) {
        free(c);
        return -1;
    }
    struct client client = {
        .epoll = epoll_create1(EPOLL_CLOEXEC), .next = all, .end = all + count, .out = out};
    for (size_t i = 0; i < connections; i++) {
        c[i].fd = connect_to(port);
    }
    int result = run(&client, c, connections);
    for (size_t i = 0; i < connections; i++) {
        close(c[i].fd);
    }
    close(client.epoll);
    free(c);
    return result;
}
