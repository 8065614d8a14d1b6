/* SPDX-License-Identifier: MIT
 *
 * Errors for a user, on stderr: "hangdog: cannot VERB OBJECT: REASON", then a command that helps. On a
 * terminal "  try: COMMAND" has a line of its own; elsewhere it follows after a semicolon.
 */
#ifndef CLI_ERROR_H
#define CLI_ERROR_H

enum {
    EXIT_ERROR = 1,
    EXIT_USAGE = 2
};

#define PROBLEM_BYTES 2048

/* Why something failed, as one line. */
struct problem {
    char text[PROBLEM_BYTES];
    char command[PROBLEM_BYTES]; /* a command that helps; empty: none */
};
void error_set(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the command. Call after error_set. */
void error_try(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each returns EXIT_ERROR. `command`: one that helps, or NULL. */
int print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int print_error_try(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
int error_print(const struct problem *p);

/* Everything that was printed is written: 0. Else an error that names it, and its status; none where the
 * reader of a pipe has gone. */
int error_check_stdout(const char *what);

#endif
