/* SPDX-License-Identifier: MIT
 *
 * The loop that the user names by --loop MODULE[:FUNCTION], in place of the rule. A wait is this loop's if,
 * from the innermost frame outward, FUNCTION comes before any frame outside of MODULE. So a callback's wait
 * is not the loop's, since the callback is in another module. The wait of a nested loop of FUNCTION is. No
 * allocation, no lock; may run in a hang.
 */
#ifndef HD_LOOP_OPTION_H
#define HD_LOOP_OPTION_H

#include "image/modules.h"
#include "record/record.h"

struct hd_loop_option {
    char module[HD_RECORD_STRING];   /* empty: the option is not set */
    char function[HD_RECORD_STRING]; /* empty: any function of the module */
    bool seen;                       /* a wait of the loop's has matched */
    /* The module in which `function` was looked up last. */
    uint64_t handle;
    uint64_t start; /* where the function begins in memory; 0: the module does not have it */
};

/* `text`: as the user writes the option; empty: it is not set. */
void hd_loop_option_init(struct hd_loop_option *o, const char *text);

/* False: the text names no module, has a colon and no function, or is too long. For the command. */
bool hd_loop_option_is_valid(const char *text);

static inline bool hd_loop_option_is_set(const struct hd_loop_option *o) {
    return o->module[0] != '\0';
}

/* True if a wait with this stack is the loop's. Skips the interposer's frames, which are the innermost. */
bool hd_loop_option_matches(struct hd_loop_option *o, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

/* Index of the frame that called the wait function: the innermost one outside of that function's module.
 * `count` if there is no such frame. */
uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count);

/* Start of a function, by the full table of symbols of the file at `path`, in the file's own numbering. 0:
 * the file does not have it. */
uint64_t hd_file_symbol(const char *path, const char *name);

#endif
