/* SPDX-License-Identifier: MIT
 *
 * A program that links the library, and hangs as its second argument says: not at all, for half a second, for
 * ever, or for ever while another thread ends it.
 *
 *   library-hang SPOOL none|short|long|exit
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hangdog/hangdog.h"

static void *end_it(void *unused) {
    (void)unused;
    sleep(1);
    exit(0);
}

int main(int argc, char **argv) {
    hangdog_options options = {
        .size = sizeof options, .spool = argc == 3 ? argv[1] : NULL, .interval_ns = 10000000};
    for (int i = 0; i < HANGDOG_STATES; i++)
        options.threshold_ns[i] = 100000000;
    if (argc != 3 || hangdog_start(&options) != 0)
        return 1;
    hangdog_loop *loop = hangdog_loop_watch("loop", 0);
    pthread_t other;
    hangdog_mark(loop, HANGDOG_BEFORE_WAITING);
    usleep(50000);
    hangdog_mark(loop, HANGDOG_AFTER_WAITING);
    if (strcmp(argv[2], "exit") == 0 && pthread_create(&other, NULL, end_it, NULL) != 0)
        return 1;
    if (strcmp(argv[2], "short") == 0)
        usleep(500000);
    else if (strcmp(argv[2], "none") != 0)
        for (;;)
            pause();
    hangdog_mark(loop, HANGDOG_BEFORE_WAITING);
    usleep(300000);
    hangdog_loop_unwatch(loop);
    return 0;
}
