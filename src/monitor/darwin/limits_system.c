/* SPDX-License-Identifier: MIT
 *
 * iOS ends a program that launches for 20 s, changes its state for 10 s, or quits for 5 s. A task in the
 * background has about 30 s. A report needs a part of that time. macOS ends no program for a hang.
 */
#include <TargetConditionals.h>

#include "monitor/limits.h"

uint64_t hd_limits_system_ns(hangdog_state state) {
    static const uint64_t s[HANGDOG_STATES] = {[HANGDOG_STATE_LAUNCH] = 16,
                                               [HANGDOG_STATE_BACKGROUND] = 24,
                                               [HANGDOG_STATE_RESUME] = 8,
                                               [HANGDOG_STATE_SUSPEND] = 8,
                                               [HANGDOG_STATE_QUIT] = 4};
    bool ends = TARGET_OS_OSX == 0 && (unsigned)state < HANGDOG_STATES && s[state] != 0;
    return ends ? s[state] * HD_NS_PER_S : UINT64_MAX;
}
