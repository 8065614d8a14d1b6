/* SPDX-License-Identifier: MIT
 *
 * The report's model: what report.schema.json says, as plain structs that point at the worker's buffers, and
 * the writer that turns it into JSON without allocating. May run while a hang is on. One writer at a time.
 */
#ifndef HD_REPORT_H
#define HD_REPORT_H

#include "base/types.h"
#include "cause/cause.h"
#include "crash/crash.h"
#include "image/modules.h"
#include "record/origin.h"
#include "report/call_tree.h"
#include "script/script.h"
#include "script/tasks.h"

struct hd_app {
    const char *name, *version, *environment, *executable; /* NULL: left out */
    uint8_t build_id[HD_BUILD_ID_MAX];
    uint8_t build_id_bytes;
    int pid;
    uint64_t started_wall_ns; /* 0: left out */
    uint8_t session[HD_UUID_BYTES];
};

struct hd_host {
    const char *os;                          /* a word of the schema; NULL: linux */
    const char *os_version, *kernel, *model; /* NULL: left out */
    int cpus;
    uint64_t memory_bytes;
    const struct hd_origin *origin; /* NULL: not known */
};

struct hd_timeline_entry {
    uint64_t at_ns; /* CLOCK_MONOTONIC; written since the hang's start */
    uint64_t for_ns;
    uint32_t leaf; /* tree node, HD_TREE_NONE: no stack */
    int32_t syscall_nr;
    uint8_t state; /* enum hd_run_state */
    uint8_t way, stop;
    uint16_t cut;
};

/* The worker has 256 of these: the widest members come first, so the struct needs no padding. */
struct hd_thread_record {
    double cpu_percent; /* < 0: left out */
    const char *path;   /* of a lock's owner: base name of the file that the call works on; NULL */
    hd_thread_id thread;
    char name[16];
    hd_thread_id waits_for; /* none: the thread waits for no other one, or for an unknown one */
    int32_t syscall_nr;
    uint32_t first; /* frame in hd_report.thread_frames */
    uint32_t cut;
    uint16_t count; /* of frames */
    int16_t error;  /* errno value: why there is no stack, 0 */
    uint8_t state;  /* enum hd_run_state, or HD_THREAD_STATE_UNKNOWN */
#define HD_THREAD_STATE_UNKNOWN UINT8_MAX
    uint8_t stop, way;
    bool watched;    /* another loop's thread */
    bool pool;       /* a thread of the stalled pool */
    uint64_t for_ns; /* of such a thread: for how long it has done what its stack shows; 0: left out */
};

/* The pool of a `pool-stall` report. */
struct hd_pool_seen {
    const char *name;
    uint32_t threads;
    int32_t queued; /* < 0: not known */
};

struct hd_monitor_cost {
    uint64_t samples, interrupted_syscalls, restarted_syscalls;
    uint64_t pause_max_ns, pause_total_ns, cpu_ns, late_max_ns, suppressed;
    bool degraded;
};

/* CPU use over the last period, for a `cpu` report. */
struct hd_cpu_use_shares {
    hd_thread_id thread;
    uint64_t period_ns;
    double percent, process_percent; /* of one CPU */
};

struct hd_session {
    uint64_t used_ns, foreground_ns, launch_ns, hangs, hang_ns, turns;
    uint64_t pool_stalls, pool_stall_ns;
    uint64_t idle_ns, busy_ns; /* sums over all loops, so they may exceed used_ns */
    uint64_t turn_histogram[HD_TURN_BUCKETS];
    uint64_t frames, frames_dropped, frame_ns, hitch_ns, frame_histogram[HD_FRAME_BUCKETS];
    uint64_t reports_dropped;
    uint64_t withdrawn; /* turns that turned out not to be hangs; `hangs` does not count them */
    uint64_t suppressed_count, suppressed_total_ns,
        suppressed_max_ns;    /* the sum of all fingerprints; 0: left out */
    const char *previous_end; /* how the run before ended, in a word of the schema; NULL: left out */
    const char *end;          /* the same of this run, which a later one has finished; NULL: left out */
};

/* The state of the system and the process's role, in words of the schema; NULL: left out. */
struct hd_system_state {
    const char *role, *memory_pressure, *thermal_state;
};

struct hd_report {
    enum hd_report_kind kind;
    bool complete;
    bool unsure; /* the loop has evidence and is not certain, so this may not be a hang */
    bool brief;  /* a repeat: no threads, no samples */
    bool debugger;
    bool without_paths; /* code files outside of the system's folders have their base names only */
    uint8_t id[HD_UUID_BYTES];
    uint8_t repeat_of[HD_UUID_BYTES]; /* all zero: none */
    uint64_t fingerprint;             /* 0: none */
    uint64_t started_wall_ns;         /* CLOCK_REALTIME */
    uint64_t started_ns;              /* CLOCK_MONOTONIC, to date the timeline */
    uint64_t duration_ns, excluded_ns, threshold_ns;
    uint64_t start_uncertain_ns; /* by how much the turn may have started earlier; 0: left out */
    bool at_least;               /* the turn had started already when the watch began */
    const char *hook, *turns;    /* of a watch from outside; NULL: left out */
    const struct hd_app *app;
    const struct hd_host *host;
    double cpu_percent;                   /* < 0: left out */
    uint64_t rss_bytes;                   /* 0: left out */
    const struct hd_system_state *system; /* NULL: left out */
    int thread_count;                     /* 0: left out */
    const char *label, *traceparent;      /* of the loop, as the program set them; "" or NULL: none */
    const struct hd_task_chain *task;     /* NULL, or without a name: none */
    hd_thread_id loop_thread;
    const char *loop_name;                                /* NULL: no loop member */
    uint64_t background_ns;                               /* the part of the hang in the background */
    const char *loop_activity, *loop_state, *loop_scheme; /* words of words.def; NULL: left out */
    const struct hd_cause *cause;                         /* NULL */
    const struct hd_tree *tree;                           /* NULL: no hot_stack, no samples */
    uint8_t hot_way, hot_stop;                            /* of the most recent sample on the hot path */
    uint32_t hot_cut;
    uint64_t interval_ns;
    const struct hd_timeline_entry *timeline; /* ring: oldest at timeline_first */
    uint32_t timeline_first, timeline_count, timeline_size;
    uint32_t taken;
    const struct hd_thread_record *threads;
    uint32_t thread_records, threads_left_out;
    const struct hd_frame *thread_frames;
    struct hd_modules
        *modules; /* NULL: none. The writer finds the module of each frame here, and writes the used ones */
    const struct hd_scripts *scripts;           /* NULL: no frame is a script's */
    const struct hd_monitor_cost *monitor;      /* NULL */
    const struct hd_session *session;           /* NULL */
    const struct hd_crash *crash;               /* NULL */
    const struct hd_crash_exception *exception; /* NULL; of the crash */
    const struct hd_cpu_use_shares *cpu_use;    /* NULL */
    const struct hd_pool_seen *pool;            /* NULL */
};

/* Where the JSON goes: called with each filled buffer. 0 or a negative errno value, which ends the writing.
 */
struct hd_sink {
    int (*put)(void *ctx, const char *bytes, size_t n);
    void *ctx;
};

/* Scratch of the writer, part of the worker's memory (distinct stacks, used modules, output buffer). */
struct hd_report_scratch;
size_t hd_report_scratch_bytes(void);

/* Writes the document, ended by a newline. 0 or the sink's error. */
int hd_report_write(const struct hd_report *r, struct hd_report_scratch *scratch, struct hd_sink sink);

#endif
