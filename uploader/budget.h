/* SPDX-License-Identifier: MIT
 *
 * How many bytes went out today, and how many may. A day is one of UTC. Ordinary code.
 */
#ifndef UPLOADER_BUDGET_H
#define UPLOADER_BUDGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"

struct budget {
    char path[PATH_MAX]; /* of the file that has the day and its bytes */
    int64_t limit;       /* bytes a day */
};

/* The file is in the folder of the reports. False, and why. */
bool budget_open(struct budget *b, int64_t limit, struct problem *why);
/* Counts bytes that are to go out. False: they are more than the day has left, or cannot be counted. */
bool budget_take(const struct budget *b, size_t bytes);

#endif
