/* SPDX-License-Identifier: MIT
 *
 * CLOCK_UPTIME_RAW stops while the machine sleeps, as CLOCK_MONOTONIC does on Linux. The CPU's counter runs
 * on in sleep, so no mark uses it.
 */
#include "os/os.h"

#include <time.h>

void hd_os_clock_init(void) {}

uint64_t hd_os_now_ns(void) {
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

void hd_os_nap(uint64_t ns) {
    static uint32_t never;
    (void)hd_os.futex_wait(&never, 0, hd_os_now_ns() + ns, false);
}

uint64_t hd_os_thread_cpu_ns(void) {
    return clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t hd_os_process_cpu_ns(void) {
    return clock_gettime_nsec_np(CLOCK_PROCESS_CPUTIME_ID);
}

bool hd_os_ticks_usable(void) {
    return false;
}

bool hd_os_ticks_steady(void) {
    return false;
}
