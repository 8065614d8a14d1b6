/* SPDX-License-Identifier: MIT
 *
 * The memory of src/publish: the spool, the data that all reports of a run share, and data about the reports
 * written so far. The worker owns this memory, and fills it at the start of the run.
 */
#ifndef HD_PUBLISHER_H
#define HD_PUBLISHER_H

#include "os/arch/page.h"
#include "publish/caps.h"
#include "publish/deferred.h"
#include "publish/fingerprint.h"
#include "publish/repeat.h"
#include "report/spool.h"
#include "turn/turn.h"
#include "watch/run.h"

#define HD_FATAL_MARKER_BYTES HD_PAGE_BYTES /* a mapping replaces whole pages */

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
    /* One memory page for each turn that the worker follows. While the turn has a fatal marker, the file with
     * the hang's duration is mapped at that page. Otherwise the page is anonymous memory. */
    uint8_t (*marker_page)[HD_FATAL_MARKER_BYTES];
    /* descriptor of the folder settings.runtime, for fatal markers; negative: there is no such folder */
    int marker_fd;
    const char *previous_end; /* how the run before ended, in a word of the schema; NULL: not known */
    /* Buffers for the report that the worker is writing; the worker writes one report at a time. */
    struct hd_cause_sums sums;
    struct hd_report_scratch *scratch;
};

/* Facts that the worker reads just before it writes a report. */
struct hd_facts {
    /* The process's threads, from the worker's newest capture of all threads. If the capture was for a hang
     * that a lock caused, the lock's owner comes first. */
    const struct hd_thread_record *threads;
    const struct hd_frame *thread_frames;
    uint32_t thread_count, threads_left_out;
    /* Figures of the process. */
    uint64_t rss_bytes;
    uint64_t worker_cpu_ns;
    const struct hd_system_state *system;
    bool debugger;
    /* the number of major page faults of the loop's thread; 0: the thread has ended */
    uint64_t major_faults;
    /* Times and memory of the process's control group. If the group lacks a number, the member has that of
     * the whole system. */
    uint64_t throttled_ns, stall_ns[HD_PRESSURES];
    uint64_t memory_used, memory_limit; /* memory_limit is 0: the control group has no limit */
};

#endif
