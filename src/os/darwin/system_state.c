/* SPDX-License-Identifier: MIT */
#include "os/darwin/system_state.h"

#include <dispatch/dispatch.h>
#include <stdatomic.h>

static _Atomic unsigned long pressure; /* DISPATCH_MEMORYPRESSURE_*; 0: not known */
static void (*_Atomic on_change)(void);

static void take_pressure(void *of) {
    atomic_store(&pressure, dispatch_source_get_data((dispatch_source_t)of));
    void (*changed)(void) = atomic_load(&on_change);
    if (changed != NULL) {
        changed();
    }
}

static void follow_pressure(void) {
    dispatch_source_t source = dispatch_source_create(
        DISPATCH_SOURCE_TYPE_MEMORYPRESSURE, 0,
        DISPATCH_MEMORYPRESSURE_NORMAL | DISPATCH_MEMORYPRESSURE_WARN | DISPATCH_MEMORYPRESSURE_CRITICAL,
        dispatch_get_global_queue(QOS_CLASS_UTILITY, 0));
    if (source != NULL) { /* the source lives as long as the process */
        dispatch_set_context(source, source);
        dispatch_source_set_event_handler_f(source, take_pressure);
        dispatch_resume(source);
    }
}

void hd_system_state_start(void (*changed)(void)) {
    static _Atomic bool started;
    atomic_store(&on_change, changed);
    if (!atomic_exchange(&started, true)) {
        follow_pressure();
    }
}

const char *hd_system_memory_pressure(void) {
    unsigned long now = atomic_load(&pressure);
    return (now & DISPATCH_MEMORYPRESSURE_CRITICAL) != 0 ? "critical"
           : (now & DISPATCH_MEMORYPRESSURE_WARN) != 0   ? "warning"
           : (now & DISPATCH_MEMORYPRESSURE_NORMAL) != 0 ? "normal"
                                                         : NULL;
}

/* By enum task_role of the system. */
const char *hd_system_role(int32_t role) {
    static const char *const words[] = {"unspecified",  "foreground",      "background",
                                        "control",      "graphics-server", "throttled",
                                        "no-interface", "default",         "darwin-background"};
    return role >= 0 && role < (int32_t)(sizeof words / sizeof words[0]) ? words[role] : NULL;
}
