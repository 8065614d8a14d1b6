/* SPDX-License-Identifier: MIT
 *
 * The data of a traced process at its end, for the file.
 */
#ifndef HD_TRACE_H
#define HD_TRACE_H

#include "trace/calls.h"

struct hd_trace {
    const struct hd_trace_calls *calls; /* of all threads */
    uint64_t threads;                   /* that made a call */
    uint64_t started_wall_ns, duration_ns;
    uint64_t launch_ns;      /* 0: the program did not say that it has launched */
    uint64_t ns_per_tick_32; /* 32.32 fixed point */
};

#endif
