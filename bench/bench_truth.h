/* SPDX-License-Identifier: MIT
 *
 * The workload with known truth: what a stall is made of (the plan), what it turned out to be by the
 * program's own clock (the truth), and what the report said.
 */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include "bench.h"

#define TRUTH_SEGMENTS_MIN 3
#define TRUTH_SEGMENTS_MAX 6
#define TRUTH_INTERVAL_NS (50 * BENCH_MS)
#define TRUTH_THRESHOLD_NS (500 * BENCH_MS)
#define TRUTH_LEAD_NS (3 * TRUTH_INTERVAL_NS) /* of the hottest function, and of the cause */
#define TRUTH_DEPTH_MIN 3
#define TRUTH_DEPTH_MAX 40

/* What a thread's time goes to. The first five are what a segment is made of; each may hold some of the
 * others. */
enum truth_kind {
    TRUTH_CPU,
    TRUTH_SLEEP,
    TRUTH_LOCK,
    TRUTH_DISK,
    TRUTH_NETWORK,
    TRUTH_STARVED,
    TRUTH_KINDS
};
#define TRUTH_WORKS TRUTH_STARVED
#define TRUTH_FUNCTIONS 6 /* of each kind of work, all with the same callee */

struct truth_segment {
    uint8_t kind, function; /* the function is [kind][function] */
    uint8_t depth;          /* calls between the turn and the function, it included */
    uint64_t wanted_ns;
    /* as it turned out */
    uint64_t from_ns, to_ns;
    uint64_t cpu_ns, delay_ns; /* on a processor; ready, and waiting for one */
};

struct truth_stall {
    /* the plan */
    unsigned index;
    unsigned count;
    uint8_t descent; /* calls that all segments share */
    bool two_callers;
    struct truth_segment segment[TRUTH_SEGMENTS_MAX];
    /* as it turned out */
    bool run, clear; /* clear: function and cause are ahead as they have to be */
    uint64_t from_ns, to_ns, wall_ns;
    uint64_t longest_ns; /* with both marks in it: held up at one of them, the turn is between the two */
    unsigned hot;        /* index of the segment whose function had most of the time */
    enum truth_kind cause;
    /* what the report said */
    bool found, complete;
    uint64_t duration_ns;
    int hot_kind, hot_function; /* of the segments' functions in the hot stack; -1: none */
    char cause_said[16], capture[16], stop[24];
    unsigned samples;
};

/* One process of the workload and what came of it, in memory that parent and child share. */
struct truth_lane {
    bool done;
    unsigned runs, clear, wanted;
    unsigned reports, false_alarms, quiet_turns;
    unsigned capacity;
    struct truth_stall stall[];
};

/* ---- scheme -------------------------------------------------------------------------------- */

enum truth_scheme {
    TRUTH_ACTIVITY,
    TRUTH_PING,
    TRUTH_FRAME,
    TRUTH_SCHEMES
};
#define TRUTH_PING_NS TRUTH_INTERVAL_NS /* between two pings */
const char *truth_scheme_name(enum truth_scheme scheme);

/* The loop of this thread, which is watched by that scheme; one for each process. 0, else it said why. */
int truth_loop_open(enum truth_scheme scheme, const char *folder);
void truth_loop_idle(uint64_t ns);
void truth_turn_begin(void);
void truth_turn_next(void); /* a turn ends and the next begins, without a wait */
void truth_turn_end(void);
void truth_loop_close(void);

/* ---- plan ----------------------------------------------------------------------------------- */

struct truth_random {
    uint64_t state;
};
uint64_t truth_random(struct truth_random *r);
uint64_t truth_between(struct truth_random *r, uint64_t low, uint64_t high); /* both included */

/* What comes before a stall, that must not be reported. */
struct truth_quiet {
    uint64_t idle_ns;
    unsigned turns; /* each below the threshold */
    uint64_t turn_ns[16];
    uint8_t kind[16];
    bool without_waiting; /* the turns follow each other: busy, but turning */
};
void truth_plan_quiet(struct truth_random *r, struct truth_quiet *out);
void truth_plan_stall(struct truth_random *r, unsigned index, struct truth_stall *out);

/* From what was measured: the hottest function, the cause, and whether both are clear. */
void truth_judge(struct truth_stall *s);

const char *truth_kind_name(enum truth_kind kind);

/* ---- work ----------------------------------------------------------------------------------- */

/* The helpers that hold locks and answer sockets, and the file, in `folder`. On the loop's thread. */
int truth_work_open(const char *folder);
void truth_work_close(void);

/* Runs the segments of one turn, in order, and notes their times. */
void truth_work_run(struct truth_stall *s);
/* One function of a kind for a short while: a turn below the threshold. */
void truth_work_short(uint8_t kind, uint64_t ns);

/* Which function begins at `address`; false: none of the segments'. */
bool truth_function_at(uint64_t address, int *kind, int *function);

/* ---- reports -------------------------------------------------------------------------------- */

/* Reads every report in `folder` and gives it to the stall that it is about. */
void truth_read_reports(const char *folder, struct truth_lane *lane);

#endif
