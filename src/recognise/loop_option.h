/* SPDX-License-Identifier: MIT
 *
 * The loop that the user names by --loop MODULE[:FUNCTION]. If the user has set this option, it decides
 * instead of the rule (rule.h). The innermost frames of the named loop's wait are in MODULE, and one of them
 * is FUNCTION. A callback is in another module, so a wait in a callback is not the loop's. No allocation, no
 * lock; may run in a hang.
 */
#ifndef HD_LOOP_OPTION_H
#define HD_LOOP_OPTION_H

#include "image/modules.h"
#include "record/record.h"

struct hd_loop_option {
    char module[HD_RECORD_STRING];   /* empty: the user has not set the option */
    char function[HD_RECORD_STRING]; /* empty: any function of the module matches */
    bool seen;                       /* true once a wait has matched the option --loop */
    /* The result of the last search for `function` in a module. `handle` identifies this module, and `start`
     * is the address of the function. A `start` of 0: the module does not have the function. */
    uint64_t handle;
    uint64_t start;
};

/* `text`: the value of --loop as the user writes it; empty: the user has not set the option. */
void hd_loop_option_init(struct hd_loop_option *o, const char *text);

/* Checks the text that the user gives for --loop; the command calls this function. False: the text names no
 * module, has a colon without a function, or is too long. */
bool hd_loop_option_is_valid(const char *text);

static inline bool hd_loop_option_is_set(const struct hd_loop_option *o) {
    return o->module[0] != '\0';
}

/* True if the loop that the option names makes the wait with these frames. The innermost frames do not count
 * if they are in Hangdog's own module or in a sanitizer's runtime. */
bool hd_loop_option_matches(struct hd_loop_option *o, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

/* Returns the index of the frame that called the wait function. It is the innermost frame that is neither in
 * the module of frames[0], which has the wait function, nor in a sanitizer's runtime. Returns `count` if
 * there is no such frame. */
uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count);

#endif
