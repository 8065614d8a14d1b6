/* SPDX-License-Identifier: MIT
 *
 * The loop that the user names by --loop MODULE[:FUNCTION]. If the user has set this option, it decides
 * instead of the rule (rule.h). A wait is the named loop's if the innermost frames, as long as they are in
 * MODULE, include FUNCTION. A callback is in another module, so the wait of a callback is not the loop's. No
 * allocation, no lock; may run in a hang.
 */
#ifndef HD_LOOP_OPTION_H
#define HD_LOOP_OPTION_H

#include "image/modules.h"
#include "record/record.h"

struct hd_loop_option {
    char module[HD_RECORD_STRING];   /* empty: the user has not set the option */
    char function[HD_RECORD_STRING]; /* empty: any function of the module matches */
    bool seen;                       /* true once a wait has matched the option */
    /* The module in which `function` was looked up last, and the address that was found. Address 0: this
     * module does not have the function. */
    uint64_t handle;
    uint64_t start;
};

/* `text`: the option's value as the user writes it; empty: the user has not set the option. */
void hd_loop_option_init(struct hd_loop_option *o, const char *text);

/* Checks a value of the option for the command. False: it names no module, has a colon without a function, or
 * is too long. */
bool hd_loop_option_is_valid(const char *text);

static inline bool hd_loop_option_is_set(const struct hd_loop_option *o) {
    return o->module[0] != '\0';
}

/* True if a wait with this stack is the loop's. Skips the innermost frames if they are in Hangdog's own
 * module. */
bool hd_loop_option_matches(struct hd_loop_option *o, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

/* Index of the frame that called the wait function: the innermost frame outside of the wait function's
 * module. Returns `count` if there is no such frame. */
uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count);

/* Address of a function by the full symbol table of the file at `path`. The load bias is not added. 0: the
 * file does not have the function. */
uint64_t hd_file_symbol(const char *path, const char *name);

#endif
