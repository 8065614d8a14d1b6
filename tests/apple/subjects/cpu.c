/* SPDX-License-Identifier: MIT
 *
 * Threads that no loop watches use a CPU for seconds: the CPU monitor's report.
 */
#include <pthread.h>

#include "watched.h"

#define BURNERS 3 /* on a busy machine one thread does not get 80 % of a CPU */

__attribute__((noinline)) static void burn(unsigned ms) {
    spin_ms(ms);
    __asm__ volatile("");
}

static void *work(void *arg) {
    pthread_setname_np("burner");
    burn(3500);
    return arg;
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t threads[BURNERS];
    hangdog_options o = {.cpu_period_ns = 1000 * MS};
    watched_start("cpu", argv[1], &o);
    for (int i = 0; i < BURNERS; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < BURNERS; i++) {
        pthread_join(threads[i], NULL);
    }
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
