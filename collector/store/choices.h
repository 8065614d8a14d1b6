/* SPDX-License-Identifier: MIT
 *
 * Which of an app's groups a report of a new path comes to. Pure: the backends look the groups up.
 */
#ifndef COLLECTOR_STORE_CHOICES_H
#define COLLECTOR_STORE_CHOICES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/report/alike.h"
#include "collector/report/grouping.h"

#define CHOICES_MAX 16

struct choice {
    char fingerprint[GROUPING_HEX + 1], frames[GROUPING_FRAMES_BYTES];
    int64_t count; /* number of the group's reports */
};

/* The groups of the best rank so far. Begins as zeros. */
struct choices {
    struct choice one[CHOICES_MAX];
    enum alike rank;
    size_t count;
};

/* Compares the report's path `of` with a group's path `frames`, and keeps the group where none so far is more
 * alike. */
void choices_add(struct choices *c, const char *of, const char *fingerprint, const char *frames,
                 int64_t count);

/* The largest, where the others differ from it only by how deep they go. Else the report may be of any of
 * them, so it is of none: NULL. */
const struct choice *choices_best(const struct choices *c);

#endif
