/* SPDX-License-Identifier: MIT */
#include "collector/http/connections.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "collector/base/monotonic.h"

#define LOOK_MS 250

struct connection {
    struct connections *all;
    struct connection *next, **link; /* link: what points here */
    int fd;
    enum connection_state state;
    int64_t due_ns;
};

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    struct connection *first;
    int64_t patience_ns;
    unsigned long long cut;
    bool stopping;
};

/* The server notices the end of the stream, and closes the connection itself. */
static void cut_late(struct connections *all) {
    int64_t now = monotonic_ns();
    for (struct connection *c = all->first; c != NULL; c = c->next) {
        if (now > c->due_ns) {
            shutdown(c->fd, SHUT_RDWR);
            c->due_ns = INT64_MAX;
            all->cut++;
        }
    }
}

static void *look(void *connections) {
    struct connections *all = connections;
    pthread_mutex_lock(&all->lock);
    while (!all->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&all->stop, &all->lock, &until);
        cut_late(all);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

struct connections *connections_start(int64_t patience_ns) {
    struct connections *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    all->patience_ns = patience_ns;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->stop, NULL);
    if (pthread_create(&all->thread, NULL, look, all) != 0) {
        free(all);
        return NULL;
    }
    return all;
}

void connections_stop(struct connections *all) {
    if (all == NULL) {
        return;
    }
    pthread_mutex_lock(&all->lock);
    all->stopping = true;
    pthread_cond_signal(&all->stop);
    pthread_mutex_unlock(&all->lock);
    pthread_join(all->thread, NULL);
    pthread_cond_destroy(&all->stop);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static int64_t due(const struct connections *all, enum connection_state state) {
    switch (state) {
    case CONNECTION_WAITS:
        return monotonic_ns() + all->patience_ns;
    case CONNECTION_SENDS:
        return monotonic_ns() + CONNECTIONS_BODY_S * MONOTONIC_S;
    case CONNECTION_ANSWERED:
        return monotonic_ns() + CONNECTIONS_ANSWER_S * MONOTONIC_S;
    case CONNECTION_SERVED:
    default:
        return INT64_MAX;
    }
}

struct connection *connection_begin(struct connections *all, int fd) {
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->all = all;
    c->fd = fd;
    c->due_ns = due(all, CONNECTION_WAITS);
    pthread_mutex_lock(&all->lock);
    c->next = all->first;
    c->link = &all->first;
    if (c->next != NULL) {
        c->next->link = &c->next;
    }
    all->first = c;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void connection_end(struct connection *c) {
    if (c == NULL) {
        return;
    }
    pthread_mutex_lock(&c->all->lock);
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
    pthread_mutex_unlock(&c->all->lock);
    free(c);
}

void connection_set(struct connection *c, enum connection_state state) {
    if (c == NULL) {
        return;
    }
    pthread_mutex_lock(&c->all->lock);
    c->state = state;
    c->due_ns = due(c->all, state);
    pthread_mutex_unlock(&c->all->lock);
}

unsigned connections_at_work(struct connections *all) {
    unsigned count = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct connection *c = all->first; c != NULL; c = c->next) {
        count += c->state != CONNECTION_WAITS;
    }
    pthread_mutex_unlock(&all->lock);
    return count;
}

unsigned long long connections_cut(struct connections *all) {
    pthread_mutex_lock(&all->lock);
    unsigned long long cut = all->cut;
    pthread_mutex_unlock(&all->lock);
    return cut;
}
