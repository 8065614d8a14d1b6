/* SPDX-License-Identifier: MIT
 *
 * A loop on an io_uring, by liburing.
 */
#include <liburing.h>

#include "requests.h"

static struct io_uring ring;
static char line[64];

static void want_input(void) {
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
    io_uring_prep_read(entry, STDIN_FILENO, line, sizeof line - 1, (unsigned long long)-1);
    io_uring_sqe_set_data(entry, line);
}

static void want_tick(struct __kernel_timespec *period) {
    if (period->tv_sec != 0 || period->tv_nsec != 0) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        io_uring_prep_timeout(entry, period, 0, 0);
        io_uring_sqe_set_data(entry, NULL);
    }
}

int main(int argc, char **argv) {
    long ms = argc > 1 ? atol(argv[1]) : 0;
    struct __kernel_timespec period = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int rc = io_uring_queue_init(8, &ring, 0);
    if (rc < 0) {
        fprintf(stderr, "io_uring: %s\n", strerror(-rc));
        return 77;
    }
    want_input();
    want_tick(&period);
    say("ready\n");
    for (;;) {
        struct io_uring_cqe *event;
        rc = io_uring_submit_and_wait(&ring, 1);
        interrupted += rc == -EINTR;
        while (io_uring_peek_cqe(&ring, &event) == 0) {
            int is_input = io_uring_cqe_get_data(event) == line, n = event->res;
            io_uring_cqe_seen(&ring, event);
            if (!is_input) {
                want_tick(&period);
                continue;
            }
            line[n > 0 ? n : 0] = '\0';
            if (obey(line) < 0) {
                return 0;
            }
            want_input();
        }
    }
}
