/* SPDX-License-Identifier: MIT
 *
 * Decides which of a thread's waits are the loop's own. The input is a struct hd_wait_seen for each kind of
 * wait; the output is a verdict on this kind. If the user has set the option --loop, the option decides;
 * otherwise the rule (rule.h) decides. Pure; no allocation. One thread at a time may use a struct hd_judge.
 */
#ifndef HD_JUDGE_H
#define HD_JUDGE_H

#include "loop/wait_verdict.h"
#include "recognise/loop_option.h"
#include "recognise/rule.h"
#include "record/record.h"

struct hd_judge {
    struct hd_rule_state rule;
    struct hd_loop_option option;
};

/* `option`: the value of --loop, MODULE[:FUNCTION]. An empty string: the user has not set --loop. */
void hd_judge_init(struct hd_judge *j, const char *option);

/* Returns true if --loop is set, so that the option decides and not the rule. If a wait has matched the
 * option, this function makes the loop certain. */
bool hd_judge_by_option(struct hd_judge *j);

/* Call this function after the thread has begun a wait of a new kind (wait_seen.h says what a kind is).
 * `blocks`: true if the wait's timeout is not zero. */
void hd_judge_seen(struct hd_judge *j, const struct hd_wait_seen *w, bool blocks, uint64_t now_ns);

/* Call this function after waits of this kind have ended. w->times has the number of these waits and their
 * total time. */
void hd_judge_ended(struct hd_judge *j, const struct hd_wait_seen *w);

bool hd_judge_is_loops(struct hd_judge *j, const struct hd_wait_seen *w);
enum hd_wait_verdict hd_judge_verdict(struct hd_judge *j, const struct hd_wait_seen *w);

enum hd_record_certainty hd_judge_certainty(const struct hd_judge *j);

#endif
