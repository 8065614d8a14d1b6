/* SPDX-License-Identifier: MIT
 *
 * Which of a thread's waits is the loop's: values of waits go in, verdicts come out. The user's option
 * (--loop) decides where it is set, else the rule does. Pure; no allocation. One thread at a time.
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

/* `option`: MODULE[:FUNCTION], or empty. */
void hd_judge_init(struct hd_judge *j, const char *option);

/* True: the option decides, and not the rule. The loop is certain once the option has matched a wait. */
bool hd_judge_by_option(struct hd_judge *j);

/* The thread begins a wait of a kind that it has not had before. `blocks`: the timeout is not zero. */
void hd_judge_seen(struct hd_judge *j, const struct hd_wait_seen *w, bool blocks, uint64_t now_ns);

/* Waits of this kind have ended; w->times counts them. */
void hd_judge_ended(struct hd_judge *j, const struct hd_wait_seen *w);

bool hd_judge_is_loops(struct hd_judge *j, const struct hd_wait_seen *w);
enum hd_wait_verdict hd_judge_verdict(struct hd_judge *j, const struct hd_wait_seen *w);

enum hd_record_certainty hd_judge_certainty(const struct hd_judge *j);

#endif
