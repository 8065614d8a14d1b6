/* SPDX-License-Identifier: MIT
 *
 * The one thread that writes to the store. Requests that come while it waits for the disk go into its next
 * transaction together.
 */
#ifndef COLLECTOR_WRITER_H
#define COLLECTOR_WRITER_H

#include "collector/store/store.h"

struct writer;

/* The reports of one request. The writer calls `done` on its thread once `result` is certain; from then on
 * the job is its owner's again. */
struct writer_job {
    struct row *rows;
    size_t count;
    enum store_result result;
    void (*done)(struct writer_job *job);
    struct writer_job *next;
};

/* NULL: no memory, or no thread. */
struct writer *writer_start(struct store *store);
/* False: it has been stopped, or has too much to do; then `done` is not called. */
bool writer_add(struct writer *w, struct writer_job *job);
/* Writes what it has, and ends. Later jobs are refused. */
void writer_stop(struct writer *w);
/* Once it has been stopped and no request can come to it. */
void writer_free(struct writer *w);
/* The last transaction did not fail. */
bool writer_is_well(const struct writer *w);

#endif
