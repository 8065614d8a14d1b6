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
    bool seen;                       /* true once a wait has matched the option */
    /* The result of the last search for `function`. `handle` identifies the module, and `start` is the
     * function's address in it. A `start` of 0: this module does not have the function. */
    uint64_t handle;
    uint64_t start;
};

/* `text`: the option's value as the user writes it; empty: the user has not set the option. */
void hd_loop_option_init(struct hd_loop_option *o, const char *text);

/* Checks the text that the user gives for --loop; the command calls this function. False: the text names no
 * module, has a colon without a function, or is too long. */
bool hd_loop_option_is_valid(const char *text);

static inline bool hd_loop_option_is_set(const struct hd_loop_option *o) {
    return o->module[0] != '\0';
}

/* True if the loop that the option names makes the wait with these frames. Innermost frames in Hangdog's own
 * module or in a sanitizer's runtime do not count. */
bool hd_loop_option_matches(struct hd_loop_option *o, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

/* Returns the index of the frame that called the wait function: the innermost frame outside of the wait
 * function's module. Returns `count` if there is no such frame. */
uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count);

/* Returns the address of the function `name` by the full symbol table of the file at `path`. The load bias is
 * not added. 0: the table does not have the function, or the code cannot read the file. */
uint64_t hd_file_symbol(const char *path, const char *name);

#endif
