/* SPDX-License-Identifier: MIT */
#include "collector/http/connections.h"

#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

#include "collector/base/monotonic.h"

/* ---- clients' addresses; the caller has the lock --------------------------------------------- */

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

/* Counts a new connection of a client. Of an IPv6 address only the network's half counts, since a client has
 * all addresses of a network. NULL: no memory. */
static struct client_address *client_address_take(struct client_addresses *all, const struct sockaddr *from) {
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

/* Uncounts a connection that has ended. */
static void client_address_drop(struct client_addresses *all, struct client_address *address) {
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

#define LOOK_MS 250
/* An answer of this size is always sent: a page's figures, an error. All places together have 128 MiB of
 * them. */
#define SMALL_ANSWER ((size_t)64 << 10)
#define READS_AT_LEAST_NS (5 * MONOTONIC_S)
/* malloc keeps what is freed. It goes back to the kernel after so many bytes of large answers. */
#define FREED_BYTES ((size_t)64 << 20)

struct connection {
    struct connections *all;
    TAILQ_ENTRY(connection) of_all, of_address;
    struct client_address *from;
    int fd;
    enum connection_state state;
    bool is_cut;
    size_t answer_bytes;
    int64_t since_ns, due_ns; /* of the state */
};

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t stop;
    pthread_t thread;
    struct connection_list waiting, working, cut_off; /* each with the longest first */
    struct client_addresses addresses;
    struct connection_limits limits;
    long count; /* connections that were not cut */
    size_t answer_bytes, freed_bytes;
    unsigned long long cut;
    bool stopping;
};

static struct connection_list *list_of(struct connection *c) {
    return c->is_cut ? &c->all->cut_off : c->state == CONNECTION_WAITS ? &c->all->waiting : &c->all->working;
}

static void link_in(struct connection *c) {
    TAILQ_INSERT_TAIL(list_of(c), c, of_all);
    if (list_of(c) == &c->all->waiting) {
        TAILQ_INSERT_TAIL(&c->from->waiting, c, of_address);
    }
}

static void link_out(struct connection *c) {
    TAILQ_REMOVE(list_of(c), c, of_all);
    if (list_of(c) == &c->all->waiting) {
        TAILQ_REMOVE(&c->from->waiting, c, of_address);
    }
}

/* The server notices the end of the stream, and closes the connection itself. */
static void cut(struct connection *c) {
    link_out(c);
    c->is_cut = true;
    link_in(c);
    c->from->count--;
    c->all->count--;
    c->all->cut++;
    shutdown(c->fd, SHUT_RDWR);
}

static void cut_late_of(struct connection_list *list, int64_t now) {
    for (struct connection *c = TAILQ_FIRST(list), *next; c != NULL; c = next) {
        next = TAILQ_NEXT(c, of_all);
        if (now > c->due_ns) {
            cut(c);
        }
    }
}

static void *look(void *connections) {
    struct connections *all = connections;
    pthread_mutex_lock(&all->lock);
    while (!all->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&all->stop, &all->lock, &until);
        cut_late_of(&all->waiting, monotonic_ns());
        cut_late_of(&all->working, monotonic_ns());
        if (all->freed_bytes >= FREED_BYTES) {
            all->freed_bytes = 0;
            pthread_mutex_unlock(&all->lock);
            malloc_trim(0);
            pthread_mutex_lock(&all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

struct connections *connections_start(const struct connection_limits *limits) {
    struct connections *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    pthread_condattr_t monotonic;
    all->limits = *limits;
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->working);
    TAILQ_INIT(&all->cut_off);
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&all->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
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

static int64_t due(const struct connections *all, enum connection_state state, int64_t now) {
    switch (state) {
    case CONNECTION_WAITS:
        return now + all->limits.patience_ns;
    case CONNECTION_SENDS:
        return now + CONNECTIONS_BODY_S * MONOTONIC_S;
    case CONNECTION_ANSWERED:
        return now + CONNECTIONS_ANSWER_S * MONOTONIC_S;
    case CONNECTION_SERVED:
    default:
        return INT64_MAX;
    }
}

/* The server accepts no connection above its maximum, and a cut one counts until the server has noticed the
 * cut. So an eighth of the maximum stays free. */
static long most_at_once(const struct connections *all) {
    long spare = all->limits.all / 8;
    return all->limits.all - (spare > 0 ? spare : 1);
}

static void make_place(struct connection *c) {
    struct connections *all = c->all;
    if (all->limits.per_address > 0 && c->from->count > all->limits.per_address) {
        cut(TAILQ_FIRST(&c->from->waiting)); /* the new one waits, too */
    }
    if (all->count > most_at_once(all) && TAILQ_FIRST(&all->waiting) != c) {
        cut(TAILQ_FIRST(&all->waiting));
    }
}

struct connection *connection_begin(struct connections *all, int fd, const struct sockaddr *from) {
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->all = all;
    c->fd = fd;
    c->since_ns = monotonic_ns();
    c->due_ns = due(all, CONNECTION_WAITS, c->since_ns);
    pthread_mutex_lock(&all->lock);
    c->from = client_address_take(&all->addresses, from);
    if (c->from == NULL) {
        pthread_mutex_unlock(&all->lock);
        free(c);
        return NULL;
    }
    all->count++;
    link_in(c);
    make_place(c);
    pthread_mutex_unlock(&all->lock);
    return c;
}

void connection_end(struct connection *c) {
    if (c == NULL) {
        return;
    }
    struct connections *all = c->all;
    pthread_mutex_lock(&all->lock);
    link_out(c);
    if (!c->is_cut) {
        c->from->count--;
        all->count--;
    }
    client_address_drop(&all->addresses, c->from);
    pthread_mutex_unlock(&all->lock);
    free(c);
}

static void set(struct connection *c, enum connection_state state, size_t answer_bytes) {
    pthread_mutex_lock(&c->all->lock);
    link_out(c);
    c->state = state;
    c->answer_bytes = answer_bytes;
    c->since_ns = monotonic_ns();
    c->due_ns = due(c->all, state, c->since_ns);
    link_in(c);
    pthread_mutex_unlock(&c->all->lock);
}

void connection_set(struct connection *c, enum connection_state state) {
    if (c != NULL) {
        set(c, state, 0);
    }
}

void connection_set_answered(struct connection *c, size_t bytes) {
    if (c != NULL) {
        set(c, CONNECTION_ANSWERED, bytes);
    }
}

struct connections *connection_all(const struct connection *c) {
    return c != NULL ? c->all : NULL;
}

/* The one that has read a large answer for the longest time, and at least for a while. */
static void cut_slowest_reader(struct connections *all) {
    int64_t now = monotonic_ns();
    struct connection *c;
    TAILQ_FOREACH(c, &all->working, of_all) {
        if (c->answer_bytes > SMALL_ANSWER && now - c->since_ns > READS_AT_LEAST_NS) {
            cut(c);
            return;
        }
    }
}

bool connections_take_answer(struct connections *all, size_t bytes) {
    if (all == NULL || bytes <= SMALL_ANSWER) {
        return true;
    }
    pthread_mutex_lock(&all->lock);
    bool takes = all->answer_bytes + bytes <= CONNECTIONS_ANSWERS_MAX || all->answer_bytes == 0;
    if (takes) {
        all->answer_bytes += bytes;
    } else {
        cut_slowest_reader(all);
    }
    pthread_mutex_unlock(&all->lock);
    return takes;
}

void connections_end_answer(struct connections *all, size_t bytes) {
    if (all != NULL && bytes > SMALL_ANSWER) {
        pthread_mutex_lock(&all->lock);
        all->answer_bytes -= bytes;
        all->freed_bytes += bytes;
        pthread_mutex_unlock(&all->lock);
    }
}

unsigned connections_at_work(struct connections *all) {
    unsigned count = 0;
    const struct connection *c;
    pthread_mutex_lock(&all->lock);
    TAILQ_FOREACH(c, &all->working, of_all) {
        count++;
    }
    TAILQ_FOREACH(c, &all->cut_off, of_all) {
        count += c->state != CONNECTION_WAITS;
    }
    pthread_mutex_unlock(&all->lock);
    return count;
}

unsigned long long connections_cut(struct connections *all) {
    pthread_mutex_lock(&all->lock);
    unsigned long long count = all->cut;
    pthread_mutex_unlock(&all->lock);
    return count;
}
