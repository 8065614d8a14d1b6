/* SPDX-License-Identifier: MIT
 *
 * The terminal: lines are drawn, keys are read, and it is put back whatever ends the command. One at a time.
 * Ordinary code.
 */
#ifndef CLI_LIVE_TOP_SCREEN_H
#define CLI_LIVE_TOP_SCREEN_H

#include <stdint.h>

#include "cli/base/error.h"
#include "cli/live/top_page.h"
#include "cli/live/top_state.h"

/* Takes the terminal of stdin and stdout. 0; -1 and why. A signal that ends the process, and a crash, put the
 * terminal back first. */
int top_screen_open(struct problem *why);
/* Puts it back. Does nothing where it is not taken. */
void top_screen_close(void);

void top_screen_size(int *width, int *height);
/* Truncates what does not fit. */
void top_screen_draw(const struct top_page *page);

/* The next key, waited for until CLOCK_MONOTONIC says `until_ns`. TOP_KEY_NONE: none came, or the terminal
 * has another size. */
enum top_key top_screen_key(uint64_t until_ns);

#endif
