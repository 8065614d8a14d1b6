/* SPDX-License-Identifier: MIT
 *
 * A program with a plain loop, which hangs once: it waits, spins for a second in hot_function, allocating,
 * and waits again. With an argument it executes that first, in a child, and waits for longer. It uses nothing
 * but the C library, so that tests can build it as they like.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int server;

/* Evidence of a loop; no client ever connects. The kernel chooses an abstract name. */
static int listening_socket(void) {
    const struct sockaddr any = {.sa_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(fd, &any, sizeof any.sa_family) == 0 && listen(fd, 1) == 0 ? fd : -1;
}

static void loop(int turns) {
    for (int i = 0; i < turns; i++) {
        struct pollfd p = {.fd = server, .events = POLLIN};
        while (poll(&p, 1, 50) != 0) {
        }
    }
}

static __attribute__((noinline)) void hot_function(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        void *volatile some = malloc(1000);
        free(some);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 1000);
}

int main(int argc, char **argv) {
    if (argc > 1 && system(argv[1]) != 0) { /* NOLINT(cert-env33-c): what is tested */
        return 4;
    }
    if ((server = listening_socket()) < 0) {
        return 1;
    }
    loop(argc > 1 ? 60 : 25);
    hot_function();
    loop(4);
    puts("done");
    return 3;
}
