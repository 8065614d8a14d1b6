/* SPDX-License-Identifier: MIT
 *
 * The screen of `hangdog top` for the host. Pure, but for the names of users.
 */
#ifndef CLI_LIVE_TOP_HOST_TEXT_H
#define CLI_LIVE_TOP_HOST_TEXT_H

#include "cli/live/top_host.h"
#include "cli/live/top_page.h"

struct top_host_state {
    enum host_order order;
    size_t scrolled; /* rows above the window */
    bool paused, help;
};

/* `height` 0: all rows, without a line of keys. */
void top_host_text(struct top_page *page, const struct top_host *h, struct top_host_state *s, int width,
                   int height);

#endif
