/* SPDX-License-Identifier: MIT */
#include "preload/waits/run_label.h"

#include "preload/waits/wait_table.h"

__attribute__((visibility("default"))) void hangdog_run_label(const char *text, const char *traceparent) {
    const struct hd_wait_table *t = hd_wait_table_self;
    struct hd_watch *w = t != NULL ? t->watch : NULL;
    if (w != NULL) {
        hd_label_set(&w->label, hd_loop_ticks(&w->loop), text, traceparent);
    }
}
