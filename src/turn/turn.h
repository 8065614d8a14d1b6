/* SPDX-License-Identifier: MIT
 *
 * The turns that the monitor samples, and the sums over the samples of each turn. A turn becomes a hang when
 * its report is opened. These functions use no clock and no file, and allocate nothing. On the worker
 * thread.
 */
#ifndef HD_TURN_H
#define HD_TURN_H

#include "capture/capture.h"
#include "cause/cause.h"
#include "report/call_tree.h"
#include "report/report.h"
#include "script/tasks.h"
#include "turn/timeline.h"
#include "turn/turn_label.h"
#include "watch/message.h"

#define HD_FRAMES_MAX 256 /* largest number of frames of one stack, functions of scripts not counted */
/* The worker follows at most HD_FOLLOWED_MAX turns for the monitor. One more element is for a turn that
 * ended before the monitor first saw it. */
#define HD_TURNS_MAX (HD_FOLLOWED_MAX + 1)

/* The loop as it was at the start of the turn. Another loop may have the same slot by now. */
struct hd_turn_loop {
    uint8_t slot;        /* the index for hd_watch_at() */
    uint32_t generation; /* the generation of the slot at the start of the turn */
    hd_thread_id thread;
    uint64_t start_ticks; /* when the turn started, by the loop's counter */
    const char *scheme;   /* the report schema's name for the way in which the loop is watched */
    char name[32];
};

/* The times of a turn. The turn ends at start_ns + excluded_ns + duration_ns. */
struct hd_turn_times {
    uint64_t start_ns, start_wall_ns;
    uint64_t unseen_ns; /* the length of a launch's first part, in which its loop was not watched yet */
    uint64_t duration_ns;
    uint64_t excluded_ns;    /* for how long the process was stopped during the turn */
    uint64_t process_cpu_ns; /* CPU time of the process when the turn was duration_ns old; 0: not known */
    uint64_t threshold_ns;
    uint64_t earlier_ns; /* by how much the turn may have started earlier; 0: the start is exact */
    bool at_least;       /* true: the turn had started already when the watch began */
};

/* Counters of the process and its control group at the time when tracking of the turn started. The report
 * says by how much each counter grew after that time. */
struct hd_turn_baseline {
    uint64_t age_ns; /* the turn's age when its tracking started */
    uint64_t background_ns;
    uint64_t process_cpu_ns, monitor_cpu_ns, worker_cpu_ns;
    uint64_t throttled_ns;
    uint64_t stall_ns[HD_PRESSURES];
    uint64_t major_faults; /* the number of major page faults of the loop's thread */
    struct hd_capture_cost captures;
};

/* The cost of watching so far, from the monitor's newest message about the turn. */
struct hd_turn_cost {
    struct hd_capture_cost captures;
    uint64_t monitor_cpu_ns;
    uint64_t late_max_ns;
    bool degraded;
};

/* One sample. It counts for the time from at_ns to the next sample. */
struct hd_sample {
    bool valid;
    uint64_t at_ns;
    uint32_t leaf; /* the stack's innermost node in the call tree; HD_TREE_NONE: the sample has no stack */
    struct hd_sched sched;
    struct hd_probe probe;
    uint8_t state, way, stop; /* in this order, values of enum hd_run_state, hd_way and hd_stop */
    uint32_t cut;             /* the number of frames left out of a long stack */
    /* the number of the stack's frames, if the stack was read down to its outermost frame; otherwise 0 */
    uint32_t depth;
    uint64_t sp; /* the thread's stack pointer */
    /* true: the thread waits for work in a thread pool, and another thread of the pool serves the loop */
    bool served;
};

/* The thread's scheduling statistics at the time when the monitor first saw the turn. */
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
    bool has_stack;      /* true once a sample of the turn has a stack */
    uint32_t known_leaf; /* the leaf of the newest sample that has a stack */
    struct hd_turn_first first;
    uint64_t before_ns; /* the time before the first sample, which is charged to that sample too */
    /* for how long the process was stopped between the turn's start and the newest sample */
    uint64_t stopped_ns;
    uint64_t typed_ns; /* for how long the thread waited for input from its terminal */
    /* the turn's age at the newest sample, less the time for which the process was stopped */
    uint64_t age_ns;
    bool same; /* true: the thread has not run between the two newest samples */
    /* the probe of the newest sample that found the thread blocked; blocked.for_ns is 0 until there is such a
     * sample */
    struct hd_probe blocked;
    /* the time in which the thread was blocked between samples that found it running, as long as this time is
     * not charged to a cause */
    uint64_t between_ns;
    /* for how long the thread waited for a CPU, minus the time that the timeline already shows as a wait for
     * a CPU */
    int64_t starved_ns;
};

/* The threads of the process, as the worker last captured them for this turn. */
struct hd_turn_threads {
    /* the number of threads of the process; 0: the worker has not captured them */
    uint32_t count;
    /* ids of the threads of a deadlock: each is blocked by the next one, and the last one by the first */
    hd_thread_id deadlock[HD_DEADLOCK_MAX];
    uint32_t deadlock_count;
};

/* The state of the turn's report. */
struct hd_turn_report {
    bool opened;      /* true once the report has an id, because the turn is a hang or a long display frame */
    bool within_caps; /* true once the caps on the number of reports allow this report */
    bool published;   /* true once readers may see the report; until that time it is deferred */
    uint8_t id[HD_UUID_BYTES];
    uint64_t written_age_ns; /* the turn's age when the worker last wrote the report; 0: never written */
    /* descriptor + 1 of the fatal marker, a file that shows an open hang after the process's end; 0: none */
    int marker;
    /* descriptor + 1 of the mapped file that has the hang's duration: the marker itself, or a file in
     * memory */
    int mapped;
};

struct hd_turn {
    bool used;       /* false: this element of the table is free */
    bool not_a_hang; /* true: evidence shows that the turn is not a hang, however long it gets */
    uint8_t state, activity;
    const struct hd_pool_seen *pool; /* not NULL: this is no turn, but a stall of this pool */
    struct hd_turn_loop loop;
    struct hd_turn_times times;
    struct hd_turn_baseline before;
    struct hd_turn_cost cost;
    struct hd_turn_samples samples;
    struct hd_turn_threads threads;
    struct hd_turn_report report;
    struct hd_turn_label label;
    struct hd_task_chain task; /* asyncio's, as the hang was opened */
};

/* All turns that the worker follows. Their call trees share one pool of nodes. */
struct hd_turns {
    struct hd_turn turn[HD_TURNS_MAX];
    struct hd_tree_pool pool;
    /* the call tree of the CPU profile; it gives up its nodes if a turn needs them; NULL: there is no
     * profile */
    struct hd_tree *profile;
};

/* Initialises *t, which the caller must have zeroed. */
void hd_turns_init(struct hd_turns *t);

/* Finds the turn of the loop that had this slot in this generation. NULL: the worker does not follow a turn
 * of that loop. */
struct hd_turn *hd_turns_find(struct hd_turns *t, uint8_t slot, uint32_t generation);

/* Starts a turn of the loop in this slot, with an empty tree; all other members are zero. Frees an earlier
 * turn of the same loop. NULL: the worker follows HD_TURNS_MAX turns already. */
struct hd_turn *hd_turns_start(struct hd_turns *t, uint8_t slot, uint32_t generation);
/* Adds the first `unseen_ns` of the turn, for which there are no samples because the loop was not watched
 * yet. */
void hd_turn_add_unseen(struct hd_turn *turn, uint64_t unseen_ns);
void hd_turn_free(struct hd_turn *turn);

/* Adds a stack, innermost frame first, to the turn's call tree. If the pool of tree nodes has no space for
 * the whole stack, folds call trees until it has. Returns the node of the stack's innermost frame. */
uint32_t hd_turns_add_stack(struct hd_turns *t, struct hd_turn *turn, const struct hd_frame *frames,
                            uint32_t count, uint64_t at_ns);

bool hd_turns_is_empty(const struct hd_turns *t);
bool hd_turns_has_hang(const struct hd_turns *t);

#endif
