/* SPDX-License-Identifier: MIT
 *
 * The service manager's socket (sd_notify(3)): one datagram a message. Any thread; never waits; no
 * allocation.
 */
#ifndef HD_NOTIFY_SOCKET_H
#define HD_NOTIFY_SOCKET_H

#include "base/types.h"

#define HD_NOTIFY_ADDRESS_MAX 108 /* of $NOTIFY_SOCKET: a path, or @ and an abstract name */

/* In the calling thread's descriptor table. A descriptor, or a negative errno value. */
int hd_notify_open(const char *address);
/* False: the message is not sent. The manager may have a new socket by now: open it again. */
bool hd_notify_send(int fd, const char *message);

#endif
