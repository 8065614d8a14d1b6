/* SPDX-License-Identifier: MIT
 * Shows the three keys of the first start, in the commands that use them. On a terminal they are printed.
 * Other output may be a journal or a log, which other people read and keep: then the keys go into a file.
 * Called by main only.
 */
#ifndef COLLECTOR_FIRST_KEYS_H
#define COLLECTOR_FIRST_KEYS_H

#include <stdbool.h>

#include "cli/base/error.h"

struct store;

struct first_keys_place {
    const char *address; /* of the page: "http://127.0.0.1:8437" */
    const char *options; /* that name this store to `hangdog serve`: " --store FILE", or empty */
    const char *file;    /* for the keys, where stdout is no terminal */
};

/* Makes them where the store has no key, and prints them, or where they are. False, and why: then the store
 * has none. */
bool first_keys_make(struct store *store, const struct first_keys_place *at, struct problem *why);

#endif
