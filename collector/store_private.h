/* SPDX-License-Identifier: MIT
 *
 * The parts of the store: opening, writing, reading.
 */
#ifndef COLLECTOR_STORE_PRIVATE_H
#define COLLECTOR_STORE_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>

#include "collector/store.h"

enum statement {
    ADD_REPORT,
    FIND_REPEATED,
    FIND_ALIKE,
    FIND_VERSION,
    ADD_GROUP,
    COUNT_GROUP,
    ADD_USER,
    COUNT_USER,
    ADD_HOUR,
    ADD_USAGE,
    STATEMENTS
};

struct store {
    sqlite3 *writes, *reads;
    sqlite3_stmt *statement[STATEMENTS];
    pthread_mutex_t reading;
    char error[256];
};

/* Prepares a query of the reading connection; NULL: it failed. */
sqlite3_stmt *store_query(struct store *s, const char *sql);

#endif
