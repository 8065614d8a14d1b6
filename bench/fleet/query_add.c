/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "fleet/query_fill.h"

#define ROWS_AT_ONCE 2000

int query_fill_by_adding(struct store *store, struct query_load *load, uint64_t reports) {
    struct row *rows = calloc(ROWS_AT_ONCE, sizeof *rows),
               **list = calloc(ROWS_AT_ONCE, sizeof(struct row *));
    int failed = rows == NULL || list == NULL;
    for (uint64_t done = 0; !failed && done < reports;) {
        size_t count = 0;
        for (; count < ROWS_AT_ONCE && done < reports; count++, done++) {
            struct query_choice choice;
            query_load_next(load, &rows[count], &choice);
            list[count] = &rows[count];
        }
        failed = store_add(store, list, count) != STORE_DONE;
    }
    if (failed) {
        fprintf(stderr, "hangdog-bench: %s\n", store_error(store));
    }
    free(rows);
    free(list);
    return failed ? -1 : 0;
}
