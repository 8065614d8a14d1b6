/* SPDX-License-Identifier: MIT
 *
 * A hand-written server: poll for a listening socket, and a timeout.
 */
#include <poll.h>
#include <sys/socket.h>

#include "schedule.h"

int main(int argc, char **argv) {
    int ms = argc > 1 ? first_wait_ms(argv) : -1;
    struct pollfd listening = {.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
    listen(listening.fd, 5); /* the kernel chooses the port */
    for (; ms >= 0; ms = run_callback()) {
        poll(&listening, 1, ms);
    }
    return 0;
}
