/* SPDX-License-Identifier: MIT
 *
 * Writing to stderr, which may be full or non-blocking. Any thread.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
