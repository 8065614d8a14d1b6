/* SPDX-License-Identifier: MIT
 *
 * For how much of a hang's time there is a stack.
 */
#ifndef CLI_COVERAGE_H
#define CLI_COVERAGE_H

#include <jansson.h>
#include <stdbool.h>

/* The part of the hang's time for which there is a stack, above 0 to 1: the frames' shares are of all of it.
 * Less than STACK_TIME_ALL is told. */
#define STACK_TIME_ALL 0.95
struct stack_time {
    double known;
    bool is_exact;  /* else the report has no samples: the rest may be in stacks that begin elsewhere, too */
    bool no_answer; /* the rest is for the most of a thread that ran */
};
struct stack_time report_coverage(const json_t *report);

#endif
