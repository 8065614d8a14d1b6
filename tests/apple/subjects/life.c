/* SPDX-License-Identifier: MIT
 *
 * A program that ends in one of several ways, for what its next start knows of it: life SPOOL HOW. It prints
 * "ready" and waits for its end, or ends by itself.
 */
#include <stdlib.h>
#include <unistd.h>

#include "hangdog/hangdog.h"
#include "subject.h"

#define MS 1000000ull

static hangdog_loop *loop;

static void start(const char *spool) {
    hangdog_options o = {.size = sizeof o, .app_name = "life", .app_version = "1.0", .spool = spool};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = 300 * MS;
    }
    CHECK_EQUAL(0, hangdog_start(&o));
    loop = hangdog_loop_watch("main", 0);
    CHECK(loop != NULL);
    hangdog_before_wait(loop);
    nap_ms(50);
    hangdog_after_wait(loop);
    hangdog_before_wait(loop);
    nap_ms(200);
}

static void be_ready(unsigned ms) {
    printf("ready\n");
    fflush(stdout);
    nap_ms(ms);
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[2] : "";
    start(argv[1]);
    if (strcmp(how, "hang") == 0) {
        hangdog_after_wait(loop);
        nap_ms(1500);
        be_ready(60000);
    } else if (strcmp(how, "pressure") == 0) {
        void (*pressure)(unsigned long) = (void (*)(unsigned long))fake("fake_memory_pressure");
        CHECK(pressure != NULL);
        pressure(4);
        be_ready(60000);
    } else if (strcmp(how, "wait") == 0) {
        be_ready(60000);
    }
    hangdog_loop_unwatch(loop);
    CHECK_EQUAL(0, hangdog_stop());
    return failed_checks ? 1 : 0;
}
