/* SPDX-License-Identifier: MIT
 *
 * The screen of `hangdog top` as lines. Ordinary code.
 */
#ifndef CLI_LIVE_TOP_TEXT_H
#define CLI_LIVE_TOP_TEXT_H

#include "cli/live/top_look.h"
#include "cli/live/top_page.h"

/* Adds the lines of a screen of this size. `height` 0: all there is, without a line of keys; `width` 0:
 * nothing is wrapped. */
void top_text(struct top_page *page, const struct top_look *l, struct top_state *s, int width, int height);

#endif
