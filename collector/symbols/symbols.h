/* SPDX-License-Identifier: MIT
 *
 * Names the reports in the store whose debug files are here: those that come, and those that came before. One
 * thread, one worker at a time.
 */
#ifndef COLLECTOR_SYMBOLS_H
#define COLLECTOR_SYMBOLS_H

#include <jansson.h>

#include "collector/store/store.h"
#include "collector/symbols/debug_folder.h"

struct symbols;

struct symbols_counts {
    unsigned long long named, unnamed; /* reports */
    unsigned long long set_aside;      /* files */
    unsigned long long failed;         /* workers that ended without a result */
};

/* NULL: no memory, or no thread. `schema` stays the caller's. */
struct symbols *symbols_start(struct store *store, struct debug_folder *folder, const json_t *schema);
/* Ends with the report that it is at. */
void symbols_stop(struct symbols *s);
/* There may be work: a file or a report came. */
void symbols_wake(struct symbols *s);
struct symbols_counts symbols_counted(const struct symbols *s);

#endif
