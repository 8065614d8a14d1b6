/* SPDX-License-Identifier: MIT
 *
 * The part of a hang's time for which the report has a stack. Pure.
 */
#ifndef CLI_COVERAGE_H
#define CLI_COVERAGE_H

#include <jansson.h>
#include <stdbool.h>

/* `known`: the part with a stack, above 0 to 1. The shares of frames refer to the whole time. A value below
 * STACK_TIME_ALL is printed. */
#define STACK_TIME_ALL 0.95
struct stack_time {
    double known;
    bool is_exact;  /* false: the report has no samples, and the rest may be in stacks with another root */
    bool no_answer; /* most of the rest is time in which the thread ran */
};
struct stack_time report_coverage(const json_t *report);

#endif
