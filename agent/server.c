/* SPDX-License-Identifier: MIT */
#include "agent/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/types.h"
#include "cli/base/listener.h"

#define CONNECTIONS (SERVER_POLLED - 2)
#define REQUEST_BYTES 2048
#define PATIENCE_NS (5 * HD_NS_PER_S)
/* Any user may connect, and answers are of the agent's budget: five a second, fifty at once. */
#define APART_NS (200 * HD_NS_PER_MS)
#define SAVED_NS (10 * HD_NS_PER_S)

struct connection {
    int fd; /* -1: free */
    uid_t user;
    uint64_t until_ns;
    char request[REQUEST_BYTES];
    size_t received;
    char *answer; /* NULL: the request is not whole */
    size_t bytes, sent;
};

struct server {
    struct server_options options;
    int listener[2];     /* the local socket; the address, or -1 */
    uint64_t paid_ns[2]; /* of each: a connection costs APART_NS; later than `now_ns`: none for now */
    uint64_t now_ns;
    struct connection connection[CONNECTIONS];
};

/* ---- sockets ---------------------------------------------------------------------------------- */

static int open_local(const char *path, struct problem *why) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || strlen(path) >= sizeof to.sun_path) {
        error_set(why, "cannot make the socket %s: %s", path, strerror(fd < 0 ? errno : ENAMETOOLONG));
        return fd < 0 ? -1 : (close(fd), -1);
    }
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        error_set(why, "cannot watch: another agent runs here, at %s", path);
        close(fd);
        return -1;
    }
    (void)unlink(path); /* of an agent that is dead */
    if (bind(fd, (struct sockaddr *)&to, sizeof to) != 0 || chmod(path, 0666) != 0 ||
        listen(fd, CONNECTIONS) != 0) {
        error_set(why, "cannot make the socket %s: %s", path, strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

struct server *server_open(const struct server_options *options, struct problem *why) {
    struct server *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(why, "cannot start: out of memory");
        return NULL;
    }
    s->options = *options;
    s->listener[1] = -1;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        s->connection[i].fd = -1;
    }
    s->listener[0] = open_local(options->path, why);
    bool well = s->listener[0] >= 0;
    if (well && options->listen != NULL) {
        s->listener[1] = listener_open(options->listen, why);
        well = s->listener[1] >= 0;
    }
    if (!well) {
        server_close(s);
        return NULL;
    }
    return s;
}

uint16_t server_port(const struct server *s) {
    return s->listener[1] >= 0 ? listener_port(s->listener[1]) : 0;
}

static void end(struct connection *c) {
    if (c->fd >= 0) {
        close(c->fd);
    }
    free(c->answer);
    *c = (struct connection){.fd = -1};
}

void server_close(struct server *s) {
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        end(&s->connection[i]);
    }
    if (s->listener[0] >= 0) {
        (void)unlink(s->options.path);
    }
    for (size_t i = 0; i < 2; i++) {
        if (s->listener[i] >= 0) {
            close(s->listener[i]);
        }
    }
    free(s);
}

/* ---- one connection --------------------------------------------------------------------------- */

/* A free one, or that which has waited longest. */
static struct connection *find_free(struct server *s) {
    struct connection *oldest = &s->connection[0];
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &s->connection[i];
        if (c->fd < 0) {
            return c;
        }
        oldest = c->until_ns < oldest->until_ns ? c : oldest;
    }
    end(oldest);
    return oldest;
}

static void accept_all(struct server *s, size_t which, uint64_t now_ns) {
    uint64_t *paid_ns = &s->paid_ns[which];
    *paid_ns = now_ns > SAVED_NS && *paid_ns < now_ns - SAVED_NS ? now_ns - SAVED_NS : *paid_ns;
    for (unsigned i = 0; i < CONNECTIONS && s->listener[which] >= 0 && *paid_ns <= now_ns; i++) {
        struct ucred peer = {.uid = SERVER_NOT_LOCAL};
        socklen_t size = sizeof peer;
        int fd = accept4(s->listener[which], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return;
        }
        if (which == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
            close(fd);
            continue;
        }
        *paid_ns += APART_NS;
        struct connection *c = find_free(s);
        c->fd = fd;
        c->user = which == 0 ? peer.uid : SERVER_NOT_LOCAL;
        c->until_ns = now_ns + PATIENCE_NS;
    }
}

/* "/metrics" of "GET /metrics HTTP/1.1"; NULL: another request. */
static const char *page_of(char *request) {
    if (strncmp(request, "GET /", 5) != 0) {
        return NULL;
    }
    request[4 + strcspn(request + 4, " ?\r\n")] = '\0';
    return request + 4;
}

static void make_answer(struct server *s, struct connection *c) {
    char *body = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&body, &bytes);
    const char *page = page_of(c->request), *type = NULL;
    if (out != NULL && page != NULL) {
        type = s->options.answer(s->options.arg, page, c->user, out);
    }
    if (out != NULL && type == NULL) {
        rewind(out);
        fprintf(out, "not found\n");
    }
    bool well = out != NULL && fclose(out) == 0;
    int n = well ? asprintf(&c->answer,
                            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                            "Connection: close\r\n\r\n%.*s",
                            type != NULL ? "200 OK" : "404 Not Found", type != NULL ? type : "text/plain",
                            bytes, (int)bytes, body)
                 : -1;
    free(body);
    if (n < 0) {
        c->answer = NULL;
        end(c);
        return;
    }
    c->bytes = (size_t)n;
}

static void receive(struct server *s, struct connection *c) {
    ssize_t n = recv(c->fd, c->request + c->received, sizeof c->request - 1 - c->received, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            end(c);
        }
        return;
    }
    c->received += (size_t)n;
    c->request[c->received] = '\0';
    if (strstr(c->request, "\r\n\r\n") != NULL || strstr(c->request, "\n\n") != NULL) {
        make_answer(s, c);
    } else if (c->received == sizeof c->request - 1) {
        end(c);
    }
}

static void send_answer(struct connection *c) {
    ssize_t n = send(c->fd, c->answer + c->sent, c->bytes - c->sent, MSG_NOSIGNAL);
    c->sent += n > 0 ? (size_t)n : 0;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || c->sent == c->bytes) {
        end(c);
    }
}

/* ---- all of them ------------------------------------------------------------------------------ */

size_t server_poll(const struct server *s, struct pollfd fds[SERVER_POLLED]) {
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        if (s->listener[i] >= 0 && s->paid_ns[i] <= s->now_ns) {
            fds[count++] = (struct pollfd){.fd = s->listener[i], .events = POLLIN};
        }
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        const struct connection *c = &s->connection[i];
        if (c->fd >= 0) {
            fds[count++] = (struct pollfd){.fd = c->fd, .events = c->answer != NULL ? POLLOUT : POLLIN};
        }
    }
    return count;
}

void server_step(struct server *s, uint64_t now_ns) {
    s->now_ns = now_ns;
    accept_all(s, 0, now_ns);
    accept_all(s, 1, now_ns);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &s->connection[i];
        if (c->fd >= 0 && c->answer == NULL) {
            receive(s, c);
        }
        if (c->fd >= 0 && c->answer != NULL) {
            send_answer(c);
        }
        if (c->fd >= 0 && now_ns > c->until_ns) {
            end(c);
        }
    }
}
