/* SPDX-License-Identifier: MIT
 *
 * The socket at which the server listens.
 */
#ifndef CLI_LISTENER_H
#define CLI_LISTENER_H

#include <stdint.h>

#include "cli/base/error.h"

/* "127.0.0.1:8437", "[::1]:8437", "localhost:8437", or ":8437" for all addresses: the socket, or -1 and why.
 */
int listener_open(const char *listen_to, struct problem *why);
/* The port that it got. */
uint16_t listener_port(int fd);

#endif
