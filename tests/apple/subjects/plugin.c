/* SPDX-License-Identifier: MIT
 *
 * A dylib that images.c loads and unloads.
 */
#include <stdint.h>
#include <time.h>

void plugin_work(unsigned ms);

__attribute__((noinline)) static void plugin_hang(unsigned ms) {
    uint64_t until = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + ms * 1000000ull;
    volatile unsigned turns = 0;
    while (clock_gettime_nsec_np(CLOCK_UPTIME_RAW) < until) {
        for (unsigned i = 0; i < 20000; i++) {
            turns = turns + i;
        }
    }
}

void plugin_work(unsigned ms) {
    plugin_hang(ms);
    __asm__ volatile("");
}
