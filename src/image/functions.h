/* SPDX-License-Identifier: MIT
 * Recognises a function among some known ones. The exported symbols of each module are searched once for all
 * names. No allocation, no lock; runs during a hang.
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

/* The name at `index`. `names` is one string: names with a NUL each, and an empty name at the end. An array
 * of pointers would cost 32 bytes and a relocation for each name in each watched process. */
const char *hd_functions_name(const char *names, uint32_t index);

/* The index of the function that begins at `start` in memory; -1: not among `names`. Searches all modules
 * that `m` remembers, so walk the stack first. */
int hd_functions_at(struct hd_functions *t, struct hd_modules *m, const char *names, uint64_t start);

#endif
