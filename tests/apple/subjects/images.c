/* SPDX-License-Identifier: MIT
 *
 * Images that come and go. A dylib is loaded late, hangs, and is unloaded after each hang. Another thread
 * loads and unloads a second dylib all the time.
 */
#include <pthread.h>

#include "watched.h"

static const char *other;
static volatile int stop;
static volatile unsigned changes;

static void *change_list(void *arg) {
    while (!stop) {
        void *image = dlopen(other, RTLD_NOW);
        CHECK(image != NULL);
        dlclose(image);
        changes++;
        nap_ms(1);
    }
    return arg;
}

int main(int argc, char **argv) {
    CHECK_EQUAL(4, argc);
    pthread_t thread;
    hangdog_options o = {0};
    other = argv[3];
    watched_start("images", argv[1], &o);
    pthread_create(&thread, NULL, change_list, NULL);
    for (int i = 0; i < 3; i++) {
        void *image = dlopen(argv[2], RTLD_NOW);
        CHECK(image != NULL);
        void (*work)(unsigned) = (void (*)(unsigned))dlsym(image, "plugin_work");
        CHECK(work != NULL);
        watched_turn(work, 500);
        dlclose(image);
    }
    stop = 1;
    pthread_join(thread, NULL);
    CHECK(changes > 50);
    printf("%u times a dylib was loaded and unloaded\n", changes);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
