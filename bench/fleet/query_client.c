/* SPDX-License-Identifier: MIT */
#include "fleet/query_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static const char collecting[] = "collecting at http://127.0.0.1:";

static void exec_serve(const char *store, int out) {
    char self[BENCH_PATH], path[2 * BENCH_PATH];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../libexec/hangdog/hangdog-serve",
             (int)(slash != NULL ? slash - self : 0), self);
    dup2(out, STDOUT_FILENO);
    /* A store that was filled some time ago keeps all of its 90 days. */
    const char *const given = getenv("HANGDOG_BENCH_STORE");
    execl(path, "hangdog-serve", "--listen", "127.0.0.1:0", "--retention", "0", "--store",
          given != NULL ? given : store, given != NULL ? "--state" : NULL, store, (char *)NULL);
    fprintf(stderr, "hangdog-bench: %s: %s\n", path, strerror(errno));
    _exit(127);
}

/* Only the first start prints a key: a later collector gets one more. */
static int new_key(const char *store, char key[64]) {
    char self[BENCH_PATH], path[2 * BENCH_PATH], command[5 * BENCH_PATH];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../libexec/hangdog/hangdog-serve",
             (int)(slash != NULL ? slash - self : 0), self);
    const char *const given = getenv("HANGDOG_BENCH_STORE");
    snprintf(command, sizeof command, "'%s' --store '%s' %s '%s' --new-key read", path,
             given != NULL ? given : store, given != NULL ? "--state" : "--store", store);
    FILE *out = popen(command, "re"); // NOLINT(cert-env33-c): the bench's own program and folder
    size_t got = out != NULL ? fread(key, 1, 63, out) : 0;
    key[got] = '\0';
    key[strcspn(key, "\n")] = '\0';
    return out != NULL && pclose(out) == 0 && got > 4 ? 0 : -1;
}

static int connect_to(uint16_t port) {
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int query_client_start(struct query_client *c, const char *store) {
    char text[4096] = "";
    size_t used = 0;
    int ends[2];
    *c = (struct query_client){.pid = -1, .fd = -1};
    if (new_key(store, c->key) != 0 || pipe2(ends, O_CLOEXEC) != 0 || (c->pid = fork()) < 0) {
        fprintf(stderr, "hangdog-bench: the collector does not start\n");
        return -1;
    }
    if (c->pid == 0) {
        exec_serve(store, ends[1]);
    }
    close(ends[1]);
    while (strstr(text, collecting) == NULL) {
        ssize_t n = read(ends[0], text + used, sizeof text - 1 - used);
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
        text[used] = '\0';
    }
    close(ends[0]);
    const char *at = strstr(text, collecting);
    c->fd = at != NULL ? connect_to((uint16_t)strtoul(at + sizeof collecting - 1, NULL, 10)) : -1;
    return c->fd >= 0 ? 0 : -1;
}

int query_client_get(const struct query_client *c, const char *path, size_t *bytes) {
    char text[65536];
    size_t used = 0, want = SIZE_MAX;
    int length = snprintf(text, sizeof text,
                          "GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
                          path, c->key);
    if (send(c->fd, text, (size_t)length, MSG_NOSIGNAL) != length) {
        return -1;
    }
    while (used < want) {
        /* Once the length is known the content is not kept. */
        size_t at = want == SIZE_MAX ? used : 0;
        ssize_t n = recv(c->fd, text + at, sizeof text - 1 - at, 0);
        if (n <= 0) {
            return -1;
        }
        used += (size_t)n;
        if (want != SIZE_MAX) {
            continue;
        }
        text[used] = '\0';
        const char *body = strstr(text, "\r\n\r\n"), *header = strcasestr(text, "content-length:");
        if (body != NULL && header != NULL) {
            if (strncmp(text, "HTTP/1.1 200", 12) != 0) {
                fprintf(stderr, "hangdog-bench: %.200s\n", text);
                return -1;
            }
            *bytes = strtoul(header + 15, NULL, 10);
            want = (size_t)(body + 4 - text) + *bytes;
        }
    }
    return 0;
}

void query_client_end(struct query_client *c) {
    if (c->fd >= 0) {
        close(c->fd);
    }
    if (c->pid > 0) {
        kill(c->pid, SIGTERM);
        waitpid(c->pid, NULL, 0);
    }
}
