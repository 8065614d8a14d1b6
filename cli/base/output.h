/* SPDX-License-Identifier: MIT
 *
 * Writing to stderr, which may be full or non-blocking. Any thread.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a process's output. In shared memory, so that another process sees whether a reader takes the
 * output. */
struct output_state {
    atomic_bool writing;  /* and may wait for the reader */
    atomic_bool in_haste; /* the program has ended: write pieces, wait for free space some seconds in all */
    _Atomic uint64_t taken_ns; /* when the reader took the last piece (CLOCK_MONOTONIC), 0: never */
};

/* Uses this state from now on, instead of the process's own. */
void output_share(struct output_state *state);

/* Writes all of it, also where the program has made stderr non-blocking. One write where possible: output of
 * the program does not come in between. */
void output_write(const char *text, size_t bytes);

/* The same to any descriptor. 0, or an errno value. */
int output_write_to(int fd, const char *text, size_t bytes);

/* Whether a line can be written without waiting for the reader. */
bool output_has_space(void);

#endif
