/* SPDX-License-Identifier: MIT
 *
 * Worker: a tracked turn, from its begin to its end: a hang if it was long. No allocation.
 */
#ifndef HD_TURN_H
#define HD_TURN_H

#include "cause/cause.h"
#include "report/call_tree.h"
#include "report/report.h"
#include "watch/run.h"

#define HD_TIMELINE 100u

struct hd_worker;

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
    hd_thread_id thread;
    uint32_t threads; /* of the process, when it was opened and they were captured; 0: they were not */
    int32_t deadlock[HD_DEADLOCK_MAX]; /* as it was then */
    uint32_t deadlock_count;
    uint64_t start_ns, start_wall_ns;
    uint64_t unseen_ns; /* of a launch: what it took before its loop was watched */
    uint64_t duration_ns, excluded_ns, threshold_ns;
    uint64_t background_before_ns; /* of the program, when the turn began */
    uint64_t written_age_ns;       /* at the last write; the next at twice that */
    uint64_t seen_age_ns;          /* at the newest sample */
    bool seen_same;                /* and that found what the one before did */
    int note,
        mapped; /* hd_fatal_marker_update's descriptors + 1: what is locked, what has the duration; 0: none */
    uint8_t id[HD_UUID_BYTES];
    struct hd_tree tree;
    struct hd_cause_sums sums;
    int64_t starved_ns;  /* while it was found running: what the timeline does not show as such yet */
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
    uint64_t stall_before_ns[HD_PRESSURES];
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

/* The turn that a message is about, NULL: it is not followed. And the turn that it begins; a fifth at the
 * same time is not followed, and only counted. */
struct hd_turn *hd_turn_find(struct hd_worker *k, const struct hd_message *msg);
struct hd_turn *hd_turn_begin(struct hd_worker *k, const struct hd_message *msg);
/* It is to be reported. Reports sort by their ids, and so by when hangs began: not before `from_wall_ns`. */
void hd_turn_open(struct hd_turn *h, uint64_t from_wall_ns);
void hd_turn_free(struct hd_turn *h);

/* The stack in k->frames, in the hang's tree; the pool always has room for it. Returns its leaf. */
uint32_t hd_turn_add_stack(struct hd_worker *k, struct hd_turn *h, uint32_t count, uint64_t at_ns);

/* A sample whose stack is in the tree: the one before it is settled. `excluded_ns`: taken off up to now. */
void hd_turn_add(struct hd_turn *h, const struct hd_last_sample *sample, uint64_t excluded_ns);

/* Whether a sample's stack is another one than the newest that is known, as it is from now on. One without an
 * answer says nothing. */
bool hd_turn_differs(struct hd_turn *h, const struct hd_last_sample *sample);

/* What the samples without an answer since answer->at_ns were about; its stack was just added to the tree. */
void hd_turn_answer(struct hd_turn *h, const struct hd_last_sample *answer);

/* The last sample stands until the turn's end, when the thread had these figures; NULL: they are not known.
 */
void hd_turn_settle(struct hd_turn *h, uint64_t at_ns, uint64_t excluded_ns, const struct hd_sched *sched);

/* No part of the turn is longer than its duration. A stop that is known late is taken off the duration, and
 * not always off the samples that it was in: their times shrink in proportion. Before each report. */
void hd_turn_limit(struct hd_turn *h);

#endif
