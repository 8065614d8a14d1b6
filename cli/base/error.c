/* SPDX-License-Identifier: MIT
 *
 * Errors for a person: one line each. Ordinary code.
 */
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

#define HASTE_S 5
#define PIECE_BYTES 4096 /* PIPE_BUF: a pipe takes it whole */

void problem_set(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
}

static atomic_bool in_haste;

void say_in_haste(void) {
    atomic_store(&in_haste, true);
}

static _Atomic uint64_t last_said_ns; /* when the reader took the last piece */
static atomic_bool saying;

uint64_t say_last_ns(bool *now) {
    *now = atomic_load(&saying);
    return atomic_load(&last_said_ns);
}

bool say_has_room(void) {
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&fd, 1, 0) != 0;
}

static bool wait_for_room(void) {
    static atomic_uint waited_s; /* in haste, for all that was said */
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    while (waited_s < HASTE_S) {
        if (poll(&fd, 1, 1000) != 0) {
            return true;
        }
        waited_s += atomic_load(&in_haste);
    }
    return say_has_room();
}

static size_t piece_of(const char *text, size_t bytes) {
    const char *end = bytes > PIECE_BYTES ? memrchr(text, '\n', PIECE_BYTES) : NULL;
    size_t most = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    if (!atomic_load(&in_haste)) {
        return bytes; /* what a program writes that runs does not come in between */
    }
    return end != NULL ? (size_t)(end - text) + 1 : most;
}

/* When the program has ended by pieces: each one that the reader takes shows that he reads. */
static void write_whole(const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(STDERR_FILENO, text, piece_of(text, bytes));
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
            atomic_store(&last_said_ns, hd_os_now_ns());
        } else if (n == 0 || (errno == EAGAIN ? !wait_for_room() : errno != EINTR)) {
            return;
        }
    }
}

void say_whole(const char *text, size_t bytes) {
    atomic_store(&last_said_ns, hd_os_now_ns());
    atomic_store(&saying, true);
    write_whole(text, bytes);
    atomic_store(&saying, false);
}

/* Names in it come from anywhere, and it stays one line. */
static void say_line(char *text) {
    char line[sizeof "hangdog: \n" + sizeof((struct problem *)0)->text];
    plain_text(text);
    say_whole(line, (size_t)snprintf(line, sizeof line, "hangdog: %s\n", text));
}

int complain(const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say_line(text);
    return EXIT_ERROR;
}

int complain_usage(const char *command, const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "; see: %s%s%s --help", own_command(), command != NULL ? " " : "",
             command != NULL ? command : "");
    say_line(text);
    return EXIT_USAGE;
}

int written(const char *what) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return complain("writing %s: %s", what, errno != 0 ? strerror(errno) : "it was cut off");
}
