/* SPDX-License-Identifier: MIT
 *
 * The turns that are sampled, and what the samples of each add up to. A turn becomes a hang when its report
 * is opened. Values in, values out: no clock, no file, no allocation. Worker.
 */
#ifndef HD_TURN_H
#define HD_TURN_H

#include "capture/capture.h"
#include "cause/cause.h"
#include "report/call_tree.h"
#include "turn/timeline.h"
#include "watch/message.h"

#define HD_FRAMES_MAX 256                  /* of one stack, without the functions of scripts */
#define HD_TURNS_MAX (HD_FOLLOWED_MAX + 1) /* one more: a turn may end before the monitor sees it */

/* The loop, as it was when the turn started. Another loop may have taken its slot since. */
struct hd_turn_loop {
    uint8_t slot;        /* hd_watch_at() */
    uint32_t generation; /* of the slot */
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

/* Counters of the process and its group when tracking of the turn started. The report has their growth. */
struct hd_turn_baseline {
    uint64_t age_ns; /* of the turn */
    uint64_t background_ns;
    uint64_t process_cpu_ns, monitor_cpu_ns, worker_cpu_ns;
    uint64_t throttled_ns;
    uint64_t stall_ns[HD_PRESSURES];
    uint64_t major_faults; /* of the loop's thread */
    struct hd_capture_cost captures;
};

/* The newest message's figures of what the watch itself costs. */
struct hd_turn_cost {
    struct hd_capture_cost captures;
    uint64_t monitor_cpu_ns;
    uint64_t late_max_ns;
    bool degraded;
};

/* One sample. It describes the thread until the next sample. */
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
    bool has_stack;      /* of any sample so far */
    uint32_t known_leaf; /* of the newest sample with a stack */
    struct hd_turn_first first;
    uint64_t before_ns;      /* from the turn's start to the first sample: charged to that sample */
    uint64_t stopped_ns;     /* the part of excluded_ns before the newest sample */
    uint64_t age_ns;         /* of the turn at the newest sample, without stopped_ns */
    bool same;               /* the newest sample proves the one before it */
    struct hd_probe blocked; /* the newest that found the thread blocked; for_ns is 0: there is none */
    uint64_t between_ns;     /* blocked between samples that found it running; `blocked` gets this time */
    int64_t starved_ns;      /* waited for a CPU while found running: not yet in the timeline */
};

/* The other threads, when they were last captured for this turn. */
struct hd_turn_threads {
    uint32_t count;                    /* threads of the process; 0: not captured */
    int32_t deadlock[HD_DEADLOCK_MAX]; /* a ring of threads that wait for each other */
    uint32_t deadlock_count;
};

/* The turn's report, and how far it is written: src/publish has these. */
struct hd_turn_report {
    bool opened;      /* the turn is a hang: a report of it exists */
    bool within_caps; /* the caps allow the report */
    bool published;   /* readers see the report: it is not deferred */
    uint8_t id[HD_UUID_BYTES];
    uint64_t written_age_ns; /* the turn's age at the last write; 0: not written */
    int marker;              /* descriptor + 1 of the fatal marker; 0: none */
    int mapped;              /* the same of the file with the duration: the marker, or another one */
};

struct hd_turn {
    bool used;       /* else the entry is free */
    bool not_a_hang; /* however long: evidence says so */
    uint8_t state, activity;
    struct hd_turn_loop loop;
    struct hd_turn_times times;
    struct hd_turn_baseline before;
    struct hd_turn_cost cost;
    struct hd_turn_samples samples;
    struct hd_turn_threads threads;
    struct hd_turn_report report;
};

/* Their trees share one pool of nodes. */
struct hd_turns {
    struct hd_turn turn[HD_TURNS_MAX];
    struct hd_tree_pool pool;
    struct hd_tree
        *profile; /* the CPU profile's tree in the same pool: a turn may take its nodes. NULL: none */
};

/* `t` is zeroed. */
void hd_turns_init(struct hd_turns *t);

/* The turn of the loop that had this slot in this generation; NULL: it is not followed. */
struct hd_turn *hd_turns_find(struct hd_turns *t, uint8_t slot, uint32_t generation);

/* A new turn of this loop, with an empty tree and zeros. It replaces a turn of the same loop. NULL: the table
 * is full. */
struct hd_turn *hd_turns_start(struct hd_turns *t, uint8_t slot, uint32_t generation);
/* The loop was not watched in the first `unseen_ns` of the turn: no sample saw them. */
void hd_turn_add_unseen(struct hd_turn *turn, uint64_t unseen_ns);
void hd_turn_free(struct hd_turn *turn);

bool hd_turns_is_empty(const struct hd_turns *t);
bool hd_turns_has_hang(const struct hd_turns *t);

#endif
