/* SPDX-License-Identifier: MIT
 *
 * The rows of `hangdog stats --by`: their keys and columns.
 */
#ifndef CLI_STATS_BY_H
#define CLI_STATS_BY_H

#include <stdbool.h>

#include "cli/reader/groups.h"
#include "cli/render/table.h"

#define STATS_BY_WORDS "function|cause|version|host|unit|container"

struct stats_by {
    const char *name;
    group_key *key;
    const char *member; /* of the fourth column */
    bool function;      /* the fifth column has it */
    struct table_column columns[TABLE_COLUMNS_MAX];
};

/* NAME is of STATS_BY_WORDS. NULL: by function. */
const struct stats_by *stats_by_find(const char *name);

#endif
