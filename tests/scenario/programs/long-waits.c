/* SPDX-License-Identifier: MIT
 *
 * Waits in 23 kinds of calls, a thread in each, for a long time: it says "ready", and then the name of each
 * call that returns early.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "../../support/long_waits.h"

static atomic_bool over; /* what ends the waits then is the end itself */

static void *in_the_call(void *argument) {
    const struct long_wait *wait = argument;
    wait->call();
    if (!atomic_load(&over)) {
        printf("early %s\n", wait->name);
        fflush(stdout);
    }
    for (;;) {
        pause();
    }
    return NULL;
}

int main(void) {
    long_waits_open();
    for (size_t i = 0; i < LONG_WAITS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, in_the_call, (void *)(uintptr_t)&long_waits[i]) != 0) {
            return 3;
        }
    }
    puts("ready");
    fflush(stdout);
    getchar(); /* until its parent closes standard input */
    atomic_store(&over, 1);
    long_waits_close();
    return 0;
}
