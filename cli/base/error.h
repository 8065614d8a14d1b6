/* SPDX-License-Identifier: MIT
 *
 * Errors for a person: one line each on stderr, and the exit status for it.
 */
#ifndef CLI_ERROR_H
#define CLI_ERROR_H

enum { EXIT_ERROR = 1, EXIT_USAGE = 2 };

/* Why something could not be done, as one line: what was being done: why; what to do. */
struct problem {
    char text[2048];
};
void problem_set(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "hangdog: TEXT" on stderr. Return the exit status for it: 1, and 2 for a wrong use, which points to --help.
 */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int complain_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All that was printed is out: 0, or a complaint that names it, and its status. */
int written(const char *what);

#endif
