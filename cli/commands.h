/* SPDX-License-Identifier: MIT
 *
 * The subcommands, and what they share about errors. Ordinary code.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_ERROR = 1, EXIT_USAGE = 2 };

/* One subcommand each: argv[0] is its name. Returns the exit status. */
int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);

/* Why something could not be done, as one line: what was being done: why; what to do. */
struct problem {
    char text[2048];
};
void problem_set(struct problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "hangdog: TEXT" on stderr. Return the exit status for it: 1, and 2 for a wrong use, which points to --help.
 */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
int complain_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All of it on stderr, also where the program has made that non-blocking, and by one write where that can be:
 * what the program writes there does not come in between. */
void say_whole(const char *text, size_t bytes);
/* The program has ended: for room in such a pipe is now waited for some seconds in all. Whoever is to read it
 * may be waiting for our end first. */
void say_in_haste(void);
/* When a reader took something last that we said (CLOCK_MONOTONIC), 0: never. `now`: something is being said,
 * and may wait for its reader. */
uint64_t say_last_ns(bool *now);
/* Whether a line can be said without waiting for him. */
bool say_has_room(void);

/* All that was printed is out: 0, or a complaint that names it, and its status. */
int written(const char *what);

#endif
