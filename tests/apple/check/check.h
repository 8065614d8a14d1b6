/* SPDX-License-Identifier: MIT
 *
 * Scenarios with a known truth, of which scripts/apple-check compares the reports. They run on any system
 * that has Hangdog's library.
 */
#ifndef CHECK_H
#define CHECK_H

#include <hangdog/hangdog.h>

#define CHECK_MS 1000000ull /* in nanoseconds */
#define CHECK_HANG_MS 700

struct check_scenario {
    const char *name;
    /* Runs the scenario, in which Hangdog runs. The folder is for files of its own. Returns 0, or the line of
     * the fault. */
    int (*run)(const char *folder);
};

extern const struct check_scenario check_threads[], check_loops[],
    check_frameworks[]; /* the last one has no name */

/* Prints that the reports of this scenario must have `function` in the hot stack. */
void check_function(const char *name, void (*function)(void));

/* Works for so many milliseconds. The blocks of this size call it, so it is in their stacks. */
void check_work(int ms);
void check_sleep(int ms);

/* Calls a function again and again, for so many milliseconds. */
void check_repeat(int ms, void (*function)(void));

/* Runs a turn of `work` on the calling thread's loop, which waits before and afterwards. */
void check_turn(hangdog_loop *loop, void (*work)(void));

/* Writes the report of this moment to FOLDER/live.json. Returns 0, or the line of the fault. */
int check_live_report(const char *folder);

#endif
