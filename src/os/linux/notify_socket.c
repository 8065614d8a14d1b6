/* SPDX-License-Identifier: MIT
 *
 * A message to the service manager does not name its sender: the manager gets the sender's process id from
 * the kernel.
 */
#include "os/notify_socket.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os/os.h"

int hd_notify_open(const char *address) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strnlen(address, HD_NOTIFY_ADDRESS_MAX);
    if (n < 2 || n >= sizeof to.sun_path || (address[0] != '/' && address[0] != '@')) {
        return -EINVAL;
    }
    memcpy(to.sun_path, address, n);
    /* The name of an abstract socket has no NUL at its end: the kernel takes the name's length from the
     * length of the address. */
    bool abstract = address[0] == '@';
    to.sun_path[0] = abstract ? '\0' : '/';
    uint32_t bytes = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + n + !abstract);
    int fd = hd_os.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = fd >= 0 ? hd_os.connect(fd, &to, bytes) : fd;
    if (rc < 0 && fd >= 0) {
        hd_os_close(fd);
    }
    return rc < 0 ? rc : fd;
}

bool hd_notify_send(int fd, const char *message) {
    size_t n = strlen(message);
    return fd >= 0 && hd_os.write(fd, message, n) == (long)n;
}
