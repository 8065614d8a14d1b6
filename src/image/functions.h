/* SPDX-License-Identifier: MIT
 *
 * Which of some known functions is this one? Each module is asked once for all of them, by its exported
 * symbols. No allocation, no lock; may run while a hang is on.
 */
#ifndef HD_FUNCTIONS_H
#define HD_FUNCTIONS_H

#include "image/modules.h"

#define HD_FUNCTIONS_MAX 128u

/* Zero-initialised is ready. */
struct hd_functions {
    uint32_t resets;  /* of the table of modules */
    uint32_t modules; /* of it, looked at so far */
    uint32_t count;
    struct {
        uint64_t start; /* in memory */
        uint32_t name;
    } found[HD_FUNCTIONS_MAX];
};

/* Names are one string, each with its NUL, and an empty one at the end: an array of pointers costs 32 bytes a
 * name in each watched process, which the loader has to mend. */
const char *hd_functions_name(const char *names, uint32_t index);

/* The index of the function that begins at `start` in memory, -1: it is none of `names`. All modules that `m`
 * remembers are known after the call: walk first, then call. */
int hd_functions_at(struct hd_functions *t, struct hd_modules *m, const char *names, uint64_t start);

#endif
