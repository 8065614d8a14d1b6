/* SPDX-License-Identifier: MIT
 *
 * The data of `hangdog top` about a process at one look, and the data for the next look. One thread.
 */
#ifndef CLI_LIVE_TOP_LOOK_H
#define CLI_LIVE_TOP_LOOK_H

#include <jansson.h>

#include "cli/live/threads.h"
#include "cli/live/top_state.h"
#include "cli/live/top_watch.h"
#include "symbolizer/symbolizer.h"

struct top_look {
    const struct live_process *process;
    struct live_threads threads;
    struct symbolizer *symbolizer;
    json_t *report, *notes; /* of the last look */
    struct top_watch watch;
    size_t count, room;
    struct top_thread *thread;
    struct top_cpu {
        int tid;
        uint64_t cpu_ns;
    } *before; /* of the look before */
    size_t before_count, before_room;
    uint64_t at_ns, before_ns; /* of this look and the one before; 0: there was none */
    uint64_t up_ns;            /* of the process, at this look */
    uint64_t own_cpu_ns;       /* CPU time of this look */
};

/* Starts, without a look. top_look_end it. */
void top_look_start(struct top_look *l, const struct live_process *p);
void top_look_end(struct top_look *l);

/* Looks at the process. 0 or a negative errno value; the last look is then gone. */
int top_look_take(struct top_look *l);

#endif
