/* SPDX-License-Identifier: MIT
 *
 * The turns that are sampled, and what the samples of each add up to. A turn becomes a hang when its report
 * is opened. Values in, values out: no clock, no file, no allocation. On the worker thread.
 */
#ifndef HD_TURN_H
#define HD_TURN_H

#include "capture/capture.h"
#include "cause/cause.h"
#include "report/call_tree.h"
#include "turn/timeline.h"
#include "watch/message.h"

#define HD_FRAMES_MAX 256                  /* frames of one stack, without the functions of scripts */
#define HD_TURNS_MAX (HD_FOLLOWED_MAX + 1) /* one more: a turn may end before the monitor sees it */

/* The loop at the start of the turn. Another loop may have taken its slot since. */
struct hd_turn_loop {
    uint8_t slot;        /* hd_watch_at() */
    uint32_t generation; /* counts the loops that had the slot */
    hd_thread_id thread;
    const char *scheme; /* how the loop is watched, in the schema's words */
    char name[32];
};

/* The turn ends at start_ns + excluded_ns + duration_ns. */
struct hd_turn_times {
    uint64_t start_ns, start_wall_ns;
    uint64_t unseen_ns; /* part of a launch before its loop was watched */
    uint64_t duration_ns;
    uint64_t excluded_ns;    /* time in which the process was stopped */
    uint64_t process_cpu_ns; /* CPU time of the process at duration_ns; 0: not known */
    uint64_t threshold_ns;
};

/* Counters of the process and its control group when tracking of the turn started. The report says by how
 * much they have grown since. */
struct hd_turn_baseline {
    uint64_t age_ns; /* age of the turn */
    uint64_t background_ns;
    uint64_t process_cpu_ns, monitor_cpu_ns, worker_cpu_ns;
    uint64_t throttled_ns;
    uint64_t stall_ns[HD_PRESSURES];
    uint64_t major_faults; /* of the loop's thread */
    struct hd_capture_cost captures;
};

/* The cost of the watch so far, from the newest message. */
struct hd_turn_cost {
    struct hd_capture_cost captures;
    uint64_t monitor_cpu_ns;
    uint64_t late_max_ns;
    bool degraded;
};

/* One sample. It counts for the time until the next sample. */
struct hd_sample {
    bool valid;
    uint64_t at_ns;
    uint32_t leaf; /* node of the call tree; HD_TREE_NONE: no stack */
    struct hd_sched sched;
    struct hd_probe probe;
    uint8_t state, way, stop; /* enum hd_run_state, hd_way, hd_stop */
    uint32_t cut;             /* frames left out of a long stack */
    uint32_t depth;           /* frames of a stack that was read down to its root; else 0 */
    bool served;              /* the thread is in a pool, and another thread serves the loop */
};

/* Scheduling statistics when the monitor first saw the turn run. */
struct hd_turn_first {
    bool known;
    uint64_t at_ns;
    struct hd_sched sched;
};

struct hd_turn_samples {
    uint32_t taken;
    struct hd_tree tree;
    struct hd_cause_sums sums;
    struct hd_timeline timeline;
    struct hd_sample newest;
    bool has_stack;      /* some sample has a stack */
    uint32_t known_leaf; /* of the newest sample with a stack */
    struct hd_turn_first first;
    uint64_t before_ns;      /* time from the turn's start to the first sample, which is charged for it */
    uint64_t stopped_ns;     /* stops before the newest sample */
    uint64_t age_ns;         /* age of the turn at the newest sample, without stops */
    bool same;               /* the thread has not run between the two newest samples */
    struct hd_probe blocked; /* the newest sample that found the thread blocked; for_ns is 0: no sample did */
    uint64_t between_ns;     /* time that the thread was blocked between samples that found it running */
    int64_t starved_ns; /* time that the thread waited for a CPU, and that the timeline does not show yet */
};

/* The threads of the process, when they were last captured for this turn. */
struct hd_turn_threads {
    uint32_t count;                    /* threads of the process; 0: not captured */
    int32_t deadlock[HD_DEADLOCK_MAX]; /* a ring of threads that wait for each other */
    uint32_t deadlock_count;
};

/* The state of the turn's report; src/publish writes it. */
struct hd_turn_report {
    bool opened;      /* the turn is a hang, and a report of it exists */
    bool within_caps; /* the caps allow the report */
    bool published;   /* readers see the report: it is not deferred */
    uint8_t id[HD_UUID_BYTES];
    uint64_t written_age_ns; /* age of the turn at the last write; 0: nothing is written */
    int marker;              /* descriptor + 1 of the fatal marker; 0: none */
    int mapped; /* descriptor + 1 of the file that has the duration: the marker or another file */
};

struct hd_turn {
    bool used;       /* false: the entry is free */
    bool not_a_hang; /* its evidence says so, however long the turn is */
    uint8_t state, activity;
    struct hd_turn_loop loop;
    struct hd_turn_times times;
    struct hd_turn_baseline before;
    struct hd_turn_cost cost;
    struct hd_turn_samples samples;
    struct hd_turn_threads threads;
    struct hd_turn_report report;
};

/* The table of turns. Their trees share one pool of nodes. */
struct hd_turns {
    struct hd_turn turn[HD_TURNS_MAX];
    struct hd_tree_pool pool;
    struct hd_tree *profile; /* the CPU profile's tree, whose nodes a turn may take; NULL: there is none */
};

/* `t` is zeroed. */
void hd_turns_init(struct hd_turns *t);

/* The turn of the loop that had this slot in this generation; NULL: it is not followed. */
struct hd_turn *hd_turns_find(struct hd_turns *t, uint8_t slot, uint32_t generation);

/* A new turn of this loop, with an empty tree and zeros. It replaces a turn of the same loop. NULL: the table
 * is full. */
struct hd_turn *hd_turns_start(struct hd_turns *t, uint8_t slot, uint32_t generation);
/* No sample saw the first `unseen_ns` of the turn: its loop was not watched yet. */
void hd_turn_add_unseen(struct hd_turn *turn, uint64_t unseen_ns);
void hd_turn_free(struct hd_turn *turn);

/* Adds a stack, innermost frame first, to the turn's tree: there is always room for the whole stack. Returns
 * its leaf.
 */
uint32_t hd_turns_add_stack(struct hd_turns *t, struct hd_turn *turn, const struct hd_frame *frames,
                            uint32_t count, uint64_t at_ns);

bool hd_turns_is_empty(const struct hd_turns *t);
bool hd_turns_has_hang(const struct hd_turns *t);

#endif
