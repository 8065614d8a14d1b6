/* SPDX-License-Identifier: MIT */
#include "monitor/limits.h"

uint64_t hd_limits_system_ns(hangdog_state state) {
    (void)state;
    return UINT64_MAX; /* systemd's limit is in settings.threshold_max_ns */
}
