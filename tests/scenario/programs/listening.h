/* SPDX-License-Identifier: MIT
 *
 * For programs with a loop: what it waits for. A listening socket is evidence of a loop; no client ever
 * connects.
 */
#ifndef LISTENING_H
#define LISTENING_H

#include <sys/socket.h>
#include <sys/un.h>

/* -1: an error. */
static inline int listening_socket(void) {
    const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* the kernel chooses an abstract name */
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(fd, (const struct sockaddr *)&any, sizeof any.sun_family) == 0 && listen(fd, 1) == 0 ? fd
                                                                                                     : -1;
}

#endif
