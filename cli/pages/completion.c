/* SPDX-License-Identifier: MIT */
#include "cli/pages/completion.h"

#include <stddef.h>

const char *completion_asks_for(enum completion what) {
    switch (what) {
    case COMPLETE_APP:
        return "apps";
    case COMPLETE_REPORT:
        return "reports";
    case COMPLETE_PROCESS:
        return "processes";
    case COMPLETE_RUNNING:
        return "running";
    default:
        return NULL;
    }
}
