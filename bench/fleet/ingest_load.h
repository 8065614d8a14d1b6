/* SPDX-License-Identifier: MIT
 *
 * The load of `ingest`: reports of a realistic size with new ids, and a client that sends them on many
 * connections at once. One thread.
 */
#ifndef BENCH_INGEST_LOAD_H
#define BENCH_INGEST_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* The text of a report, the same length for each number; its id and its function follow from the number. */
#define INGEST_TEXT_MAX 16384
size_t ingest_text(uint64_t number, char text[INGEST_TEXT_MAX]);

struct ingest_request {
    char *bytes;
    size_t size, reports;
};

/* One POST of the reports from `first` on; more than one are a batch, compressed. The caller frees `bytes`.
 */
struct ingest_request ingest_request_make(const char *key, uint64_t first, size_t reports);

struct ingest_result {
    double seconds;
    uint64_t stored;
    double *ms; /* of each request, from its first byte to its whole answer; the caller frees it */
    size_t requests;
};

/* Sends all requests, `connections` at a time. -1: an answer was not 200, and it said which. */
int ingest_send(uint16_t port, size_t connections, const struct ingest_request *all, size_t count,
                struct ingest_result *out);

#endif
