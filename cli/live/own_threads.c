/* SPDX-License-Identifier: MIT */
#include "cli/live/own_threads.h"

#include <string.h>

#include "cli/live/run_view.h"

bool own_thread_name(const char *name) {
    return strcmp(name, "hangdog") == 0 || strcmp(name, "hangdog-worker") == 0 ||
           strcmp(name, "hangdog-ping") == 0;
}

bool own_threads_are_in(const struct live_process *p) {
    struct run_view view = {0};
    return run_view_find(&view, p);
}
