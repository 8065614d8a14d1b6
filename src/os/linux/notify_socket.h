/* SPDX-License-Identifier: MIT
 *
 * The service manager's socket (sd_notify(3)): one datagram for each message. Any thread; never waits; no
 * allocation.
 */
#ifndef HD_NOTIFY_SOCKET_H
#define HD_NOTIFY_SOCKET_H

#include "base/types.h"

#define HD_NOTIFY_ADDRESS_MAX 108 /* bytes of $NOTIFY_SOCKET: a path, or @ and an abstract name */

/* A descriptor in the calling thread's table, which the caller closes, or a negative errno value. */
int hd_notify_open(const char *address);
/* False: not sent. The manager may have made a new socket: open again. */
bool hd_notify_send(int fd, const char *message);

#endif
