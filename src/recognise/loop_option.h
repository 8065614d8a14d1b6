/* SPDX-License-Identifier: MIT
 *
 * The loop that the user names (--loop MODULE[:FUNCTION]) in place of the rule: a wait is its own when the
 * innermost frames, as long as they are in MODULE, are some, and FUNCTION is one of them. A callback leaves
 * the module, so that what it waits for is no wait of the loop's, and a loop that it runs is. Worker: no
 * allocation, no lock; may run while a hang is on.
 */
#ifndef HD_LOOP_OPTION_H
#define HD_LOOP_OPTION_H

#include "image/modules.h"
#include "record/record.h"

struct hd_loop_option {
    char module[HD_RECORD_STRING]; /* empty: nothing is chosen */
    char function[HD_RECORD_STRING];
    bool seen;       /* the loop waited */
    uint64_t handle; /* of the module that `start` is in: another one is looked through anew */
    uint64_t start;  /* where the function begins in memory, 0: it is not in there */
};

/* `text`: as the option has it. */
void hd_loop_option_init(struct hd_loop_option *c, const char *text);
static inline bool hd_loop_option_is_set(const struct hd_loop_option *c) {
    return c->module[0] != '\0';
}

/* Whether a wait with this stack is the loop's. The outermost frames of our own are skipped. */
bool hd_loop_option_matches(struct hd_loop_option *c, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

/* The index of the frame that called the wait: the innermost that is not ours. `count`: there is none. */
uint32_t hd_loop_option_caller(struct hd_modules *m, const struct hd_frame *frames, uint32_t count);

/* Where a function begins that the file at `path` has in its full table of symbols, in the file's own
 * numbering; 0: there is none. */
uint64_t hd_file_symbol(const char *path, const char *name);

#endif
