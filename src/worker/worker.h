/* SPDX-License-Identifier: MIT
 *
 * The worker's state: what is known of each open hang, and the buffers that unwinding, analysis and writing
 * share. The worker may block on a sick disk; nobody waits for it. No allocation.
 */
#ifndef HD_WORKER_H
#define HD_WORKER_H

#include "cause/cause.h"
#include "image/functions.h"
#include "report/call_tree.h"
#include "report/spool.h"
#include "script/script.h"
#include "unwind/unwind.h"
#include "watch/run.h"
#include "worker/cpu_profile.h"

#define HD_TURNS_MAX (HD_FOLLOWED_MAX + 1) /* and one that was over before it was known */
#define HD_FATAL_MARKER_BYTES 4096u        /* a page, which a file may be mapped over */
#define HD_TIMELINE 100u
#define HD_FRAMES_MAX 256
#define HD_THREADS_MAX 256
#define HD_THREAD_FRAMES_MAX 3200
#define HD_DEFERRED_MAX 64
#define HD_BUCKETS_MAX 64 /* fingerprints whose reports are counted */

/* The newest sample: it stands until the next one comes. */
struct hd_last_sample {
    bool valid;
    uint64_t at_ns;
    uint32_t leaf;
    struct hd_sched sched;
    struct hd_probe evidence;
    uint8_t state, way, stop;
    uint32_t cut, depth; /* depth: frames of a whole stack; else 0 */
    bool served;         /* it waits for its turn in a pool */
};

/* A tracked turn; a hang once it is opened. */
struct hd_turn {
    bool used, opened, within_caps, published; /* shown: not held any more */
    bool not_a_hang;                           /* no hang, however long: a sample's evidence says so */
    uint8_t loop, state, activity;
    const char *scheme; /* by which the loop is watched, in the schema's words */
    uint32_t generation;
    char loop_name[32]; /* as it began: when it is told, the slot may be another loop's */
    int tid;
    uint32_t threads; /* of the process, when it was opened and they were captured; 0: they were not */
    int32_t deadlock[HD_DEADLOCK_MAX]; /* as it was then */
    uint32_t deadlock_count;
    uint64_t start_ns, start_wall_ns;
    uint64_t unseen_ns; /* of a launch: what it took before its loop was watched */
    uint64_t duration_ns, excluded_ns, threshold_ns;
    uint64_t written_age_ns; /* at the last write; the next at twice that */
    uint64_t seen_age_ns;    /* at the newest sample */
    bool seen_same;          /* and that found what the one before did */
    int note,
        mapped; /* hd_fatal_marker_update's descriptors + 1: what is locked, what has the duration; 0: none */
    uint8_t id[HD_UUID_BYTES];
    struct hd_tree tree;
    struct hd_cause_sums sums;
    uint64_t between_ns; /* neither ran nor waited for a processor between samples that found it running: it
                          * was blocked; on what, a later one may tell */
    struct hd_probe blocked;    /* of the last sample that found it blocked; for_ns 0: none yet */
    uint64_t excluded_known_ns; /* taken off up to the last sample */
    struct hd_last_sample last;
    uint32_t known_leaf; /* of the newest sample that has a stack, if one is known */
    bool known;
    uint64_t before_ns;    /* of the turn before its first sample, as charged to that */
    struct hd_sched begun; /* when the turn was first seen running, at begun_ns */
    uint64_t begun_ns;
    bool begun_known;
    uint64_t throttled_before_ns;
    uint64_t faults_before; /* major ones, when tracking began */
    struct hd_timeline_entry timeline[HD_TIMELINE];
    uint32_t timeline_count; /* ever */
    uint32_t taken;
    struct hd_capture_cost cost, cost_before; /* the loop's captures: now, and when tracking began */
    uint64_t cpu_ns, cpu_before_ns;           /* of the monitor */
    uint64_t worker_cpu_before_ns, late_max_ns;
    uint64_t tracked_age_ns, process_cpu_before_ns; /* when the turn began to be followed */
    uint64_t process_cpu_ns;                        /* at duration_ns; 0: not known */
    bool degraded;
};

/* A token bucket of one fingerprint. */
struct hd_bucket {
    uint64_t fingerprint;
    uint64_t filled_ns;
    uint32_t tokens;
};

struct hd_worker {
    struct hd_run *run;
    struct hd_probe_context probe;
    int own_tid;
    struct hd_spool spool;
    int runtime_fd; /* settings.runtime; less than zero: there is none */
    struct hd_app app;
    struct hd_host host;
    char os_version[64], kernel[64], executable[64];
    uint64_t rss_bytes; /* when the newest hang opened */
    bool debugger;
    struct hd_turn turn[HD_TURNS_MAX];
    struct hd_cpu_profile profile;
    /* reports written but not shown before their loop is sure */
    uint8_t deferred[HD_DEFERRED_MAX][HD_UUID_BYTES];
    uint8_t deferred_loop[HD_DEFERRED_MAX];
    uint32_t deferred_generation[HD_DEFERRED_MAX];
    uint64_t deferred_ns[HD_DEFERRED_MAX];
    uint32_t deferred_count;
    /* the report before: a repeat is brief */
    uint64_t before_fingerprint;
    uint64_t before_jit; /* code made at run time in its hot stack */
    uint8_t before_id[HD_UUID_BYTES];
    struct hd_bucket bucket[HD_BUCKETS_MAX];
    uint32_t day_count; /* reports in the spool younger than a day, as counted at day_checked_ns */
    uint64_t day_checked_ns;
    uint64_t suppressed;
    /* shared buffers */
    struct hd_cause_sums sums; /* of the hang that is written */
    struct hd_tree_pool pool;
    struct hd_frame frames[HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX];
    struct hd_thread_record thread[HD_THREADS_MAX];
    struct hd_thread_seen {
        uint64_t cpu_ns;
        union {
            uint64_t at_ns;  /* of one that runs: at the first try; 0: not known */
            uint64_t slices; /* of one whose stack was read: when it was */
        };
    } thread_seen[HD_THREADS_MAX];
    uint32_t threads, threads_left_out, thread_frames_used;
    struct hd_frame thread_frames[HD_THREAD_FRAMES_MAX];
    uint8_t thread_stack[HD_STACK_BYTES_MAX];
    struct hd_modules modules;
    uint64_t modules_seen_ns; /* when they were last looked after */
    struct hd_scripts scripts;
    struct hd_report_scratch *scratch;
    struct hd_unwinder *unwinder;
    /* hd_fatal_marker_update's, one for each open hang: a file, or memory of our own, but never nothing */
    uint8_t notes[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES] __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
};

/* Where a walk ended: the rest of a stack is not unreadable where it is longer than what is copied of it. */
static inline uint8_t hd_stop_of(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

/* The thread. `worker`: a struct hd_worker, zeroed but for run. */
void *hd_worker_run(void *worker);
size_t hd_worker_bytes(void);

#endif
