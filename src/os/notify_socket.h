/* SPDX-License-Identifier: MIT
 *
 * Sends messages to the service manager's socket (sd_notify(3)), one datagram for each message. Any thread;
 * never blocks; no allocation.
 */
#ifndef HD_NOTIFY_SOCKET_H
#define HD_NOTIFY_SOCKET_H

#include "base/types.h"

/* The most bytes of $NOTIFY_SOCKET, which is a path, or an @ and the name of an abstract socket. */
#define HD_NOTIFY_ADDRESS_MAX 108

/* Opens the socket whose address $NOTIFY_SOCKET has. Returns a descriptor, which the caller closes on the
 * same thread, or a negative errno value. */
int hd_notify_open(const char *address);
/* Returns false if the message was not sent. In this case the caller opens the socket again, since the
 * service manager may have made a new one. */
bool hd_notify_send(int fd, const char *message);

#endif
