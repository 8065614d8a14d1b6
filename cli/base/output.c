/* SPDX-License-Identifier: MIT */
#include "cli/base/output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

#define HASTE_S 5
#define PIECE_BYTES 4096 /* PIPE_BUF: a pipe takes it whole */

static struct output_state own;
static struct output_state *state = &own;

void output_share(struct output_state *shared) {
    state = shared;
}

static bool has_space(int fd) {
    return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) != 0;
}

bool output_has_space(void) {
    return has_space(STDERR_FILENO);
}

static bool wait_for_room(int fd) {
    static atomic_uint waited_s; /* in haste, for all that was written */
    while (waited_s < HASTE_S) {
        if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 1000) != 0) {
            return true;
        }
        waited_s += atomic_load(&state->in_haste);
    }
    return has_space(fd);
}

static size_t piece_of(const char *text, size_t bytes) {
    const char *end = bytes > PIECE_BYTES ? memrchr(text, '\n', PIECE_BYTES) : NULL;
    size_t most = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    if (!atomic_load(&state->in_haste)) {
        return bytes; /* output of a running program does not come in between */
    }
    return end != NULL ? (size_t)(end - text) + 1 : most;
}

/* Pieces in haste: each one that the reader takes shows that it reads. */
static int write_whole(int fd, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(fd, text, piece_of(text, bytes));
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
            atomic_store(&state->taken_ns, hd_os_now_ns());
        } else if (n == 0 || (errno == EAGAIN ? !wait_for_room(fd) : errno != EINTR)) {
            return n == 0 ? EIO : errno;
        }
    }
    return 0;
}

int output_write_to(int fd, const char *text, size_t bytes) {
    atomic_store(&state->taken_ns, hd_os_now_ns());
    atomic_store(&state->writing, true);
    int error = write_whole(fd, text, bytes);
    atomic_store(&state->writing, false);
    return error;
}

void output_write(const char *text, size_t bytes) {
    (void)output_write_to(STDERR_FILENO, text, bytes);
}
