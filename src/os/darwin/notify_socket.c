/* SPDX-License-Identifier: MIT
 *
 * No service manager of these systems has such a socket.
 */
#include "os/notify_socket.h"

#include <errno.h>

int hd_notify_open(const char *address) {
    (void)address;
    return -ENOSYS;
}

bool hd_notify_send(int fd, const char *message) {
    (void)fd, (void)message;
    return false;
}
