/* SPDX-License-Identifier: MIT
 *
 * Sends messages to the service manager's socket (sd_notify(3)), one datagram for each message. Any thread;
 * never waits; no allocation.
 */
#ifndef HD_NOTIFY_SOCKET_H
#define HD_NOTIFY_SOCKET_H

#include "base/types.h"

/* The most bytes of $NOTIFY_SOCKET, which is a path, or an @ and an abstract name. */
#define HD_NOTIFY_ADDRESS_MAX 108

/* Opens the socket with the address in $NOTIFY_SOCKET. Returns a descriptor in the calling thread's table,
 * which the caller closes, or a negative errno value. */
int hd_notify_open(const char *address);
/* False: the message was not sent. The manager may have made a new socket, so the caller opens the socket
 * again. */
bool hd_notify_send(int fd, const char *message);

#endif
