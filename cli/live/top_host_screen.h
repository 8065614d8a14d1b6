/* SPDX-License-Identifier: MIT
 *
 * `hangdog top` without a process: the host, live or once. Ordinary code.
 */
#ifndef CLI_LIVE_TOP_HOST_SCREEN_H
#define CLI_LIVE_TOP_HOST_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* An agent listens there. */
bool top_host_is_there(const char *socket);

/* Returns the exit status. */
int top_host_show(const char *socket, uint64_t interval_ns, bool once);

#endif
