/* SPDX-License-Identifier: MIT
 *
 * The publisher: the spool, all that reports of a run have in common, and what it remembers of reports that
 * it wrote. The worker owns the publisher, and fills it at the start of the run.
 */
#ifndef HD_PUBLISHER_H
#define HD_PUBLISHER_H

#include "publish/caps.h"
#include "publish/deferred.h"
#include "publish/fingerprint.h"
#include "publish/repeat.h"
#include "report/spool.h"
#include "turn/turn.h"
#include "watch/run.h"

#define HD_FATAL_MARKER_BYTES 4096u /* a page, in whose place a file may be mapped */

struct hd_publisher {
    struct hd_run *run;
    struct hd_turns *turns;
    const struct hd_app *app;
    const struct hd_host *host;
    struct hd_code code;
    struct hd_spool spool;
    struct hd_caps caps;
    struct hd_deferred deferred;
    struct hd_repeat before;
    /* A page for the fatal marker of each turn: its file is mapped there, else memory of our own. */
    uint8_t (*marker_page)[HD_FATAL_MARKER_BYTES];
    int marker_fd; /* descriptor of the folder settings.runtime, for fatal markers; negative: there is no such
                      folder */
    /* buffers of one report at a time */
    struct hd_cause_sums sums;
    struct hd_report_scratch *scratch;
};

/* Facts that the worker reads just before a report is written. */
struct hd_facts {
    /* The other threads, as captured last: for the newest hang. The owner of a lock comes first. */
    const struct hd_thread_record *threads;
    const struct hd_frame *thread_frames;
    uint32_t thread_count, threads_left_out;
    /* The process. */
    uint64_t rss_bytes;
    uint64_t worker_cpu_ns;
    bool debugger;
    uint64_t major_faults; /* of the loop's thread; 0: it has ended */
    /* The control group of the process; the whole system, if the group has no such figures. */
    uint64_t throttled_ns, stall_ns[HD_PRESSURES];
    uint64_t memory_used, memory_limit; /* 0: no limit */
};

#endif
