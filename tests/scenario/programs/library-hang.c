/* SPDX-License-Identifier: MIT
 *
 * A program that links the library, and hangs as its second argument says: not at all, for half a second, for
 * ever, for ever and in the background, for ever while another thread ends it; asleep for 2 s, or computing
 * for so long.
 *
 * With json or text it hangs for ever while another thread prints a live report and ends it.
 *
 *   library-hang SPOOL none|short|long|background|exit|sleep|spin|json|text
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hangdog/hangdog.h"

static void *end_it(void *unused) {
    (void)unused;
    sleep(1);
    exit(0);
}

static void *print_now(void *form) {
    static char document[1 << 20];
    sleep(1);
    long length = hangdog_report_now(document, sizeof document,
                                     strcmp(form, "json") == 0 ? HANGDOG_FORM_JSON : HANGDOG_FORM_TEXT);
    if (length <= 0 || (size_t)length >= sizeof document) {
        exit(2);
    }
    fputs(document, stdout);
    exit(0);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double limit) {
    for (double end = seconds() + limit; seconds() < end;) {
    }
}

int main(int argc, char **argv) {
    hangdog_options options = {
        .size = sizeof options, .spool = argc == 3 ? argv[1] : NULL, .interval_ns = 10000000};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 100000000;
    }
    if (argc != 3 || hangdog_start(&options) != 0) {
        return 1;
    }
    hangdog_loop *loop = hangdog_loop_watch("loop", 0);
    pthread_t other;
    hangdog_mark(loop, HANGDOG_BEFORE_WAITING);
    usleep(50000);
    hangdog_mark(loop, HANGDOG_AFTER_WAITING);
    if (strcmp(argv[2], "exit") == 0 && pthread_create(&other, NULL, end_it, NULL) != 0) {
        return 1;
    }
    bool prints = strcmp(argv[2], "json") == 0 || strcmp(argv[2], "text") == 0;
    if (prints && pthread_create(&other, NULL, print_now, argv[2]) != 0) {
        return 1;
    }
    if (strcmp(argv[2], "background") == 0) {
        usleep(500000);
        hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    }
    if (strcmp(argv[2], "short") == 0) {
        usleep(500000);
    } else if (strcmp(argv[2], "sleep") == 0) {
        usleep(2000000);
    } else if (strcmp(argv[2], "spin") == 0) {
        spin(2);
    } else if (strcmp(argv[2], "none") != 0) {
        for (;;) {
            pause();
        }
    }
    hangdog_mark(loop, HANGDOG_BEFORE_WAITING);
    usleep(300000);
    hangdog_loop_unwatch(loop);
    return 0;
}
