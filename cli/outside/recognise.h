/* SPDX-License-Identifier: MIT
 *
 * Finds out which waits of a thread of another process are the loop's own. The hook's sights go in, verdicts
 * go to the hook. A recogniser has some 2 KB: struct outside_stacks, which reads stacks, is for all threads.
 * One thread uses all of it; ordinary code.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_H
#define CLI_OUTSIDE_RECOGNISE_H

#include "cli/outside/recognise_stacks.h"
#include "record/record.h"
#include "watch/recogniser.h"

struct outside_recogniser; /* of one thread */

/* A thread, and the means to read its waits. */
struct outside_source {
    struct outside_stacks *stacks;
    const struct live_process *process;
    pid_t tid;
    const struct hd_hook_way *way;
    struct hd_hook *hook;
};

/* `option`: the value of --loop, empty for none; it must stay valid. NULL: no memory. */
struct outside_recogniser *outside_recogniser_create(const char *option);
void outside_recogniser_destroy(struct outside_recogniser *r); /* NULL is allowed */

/* For hd_hook_events.sight: reads the stack and the descriptors of the wait, and gives the hook the verdict
 * on each kind. Closes the files of hd_capture_process_open: open the process again for the next capture. */
void outside_sight(struct outside_recogniser *r, const struct outside_source *s,
                   const struct hd_hook_sight *sight);
/* The same without the reading: outside_sums reads the wait when the thread is in it again. */
void outside_sight_later(struct outside_recogniser *r, const struct outside_source *s,
                         const struct hd_hook_sight *sight);

/* True: a wait of the thread is not read yet, and may be the loop's own. */
bool outside_is_unread(const struct outside_recogniser *r);
/* True: outside_sums has work. `state`: the hook's view of the thread. */
bool outside_sums_due(const struct outside_recogniser *r, const struct hd_hook_thread *state,
                      uint64_t now_ns);
/* Passes the times of the thread's waits to the rule, and gives the hook the verdicts. Call it when it is
 * due, before a hang is reported, and a last time before the thread's totals are settled. It may close the
 * same files as outside_sight. */
void outside_sums(struct outside_recogniser *r, const struct outside_source *s,
                  const struct hd_hook_thread *state, uint64_t now_ns);

/* The recogniser's knowledge of the thread's loop. */
struct outside_loop {
    bool known;                         /* a wait is taken for the loop's own */
    bool certain;                       /* reports of this loop's hangs need not be deferred */
    bool has_evidence;                  /* a hang of 5 s or more is shown before the loop is certain */
    bool lost;                          /* there was a loop, and there is none now */
    bool left;                          /* the program has left it: the running turn is no hang */
    uint64_t changes;                   /* how often another wait has become the loop's own */
    uint64_t first_ns;                  /* when its first wait began; UINT64_MAX: it has none */
    enum hd_record_certainty certainty; /* for the session's report */
    uint64_t call_pc, caller_pc;        /* of the loop's wait (recognise/wait_seen.h); 0: not known */
};
void outside_loop_read(const struct outside_recogniser *r, struct outside_loop *out);

/* To be called at each look, with the hook's view of the thread. If threads of a pool take turns in the loop,
 * changes *seen: a thread that is parked waits. */
void outside_look(struct outside_recogniser *r, const struct outside_source *s, uint64_t now_ns,
                  struct hd_hook_thread *seen);
/* True: the thread was parked in this turn, so the turn says nothing. */
bool outside_was_parked(const struct outside_recogniser *r, const struct hd_hook_turn *turn);

/* For hd_recogniser.blocked: a sample shows the thread blocked outside of the loop's wait. */
void outside_blocked(struct outside_recogniser *r, struct hd_blocked *how);

#endif
