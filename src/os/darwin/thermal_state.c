/* SPDX-License-Identifier: MIT */
#include "os/darwin/thermal_state.h"

#include <stdatomic.h>

static _Atomic long stored = -1;

void hd_thermal_state_store(long state) {
    atomic_store(&stored, state);
}

const char *hd_thermal_state_word(void) {
    static const char *const words[] = {"nominal", "fair", "serious", "critical"};
    long state = atomic_load(&stored);
    return state >= 0 && state < (long)(sizeof words / sizeof words[0]) ? words[state] : NULL;
}
