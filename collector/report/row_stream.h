/* SPDX-License-Identifier: MIT
 *
 * The text of a stored body piece by piece: a client that reads slowly holds the body and a window of the
 * decompressor, not the text. One thread at a time.
 */
#ifndef COLLECTOR_REPORT_ROW_STREAM_H
#define COLLECTOR_REPORT_ROW_STREAM_H

#include <stddef.h>
#include <sys/types.h>

struct row_stream;

/* Takes the body, which malloc made, also where it returns NULL: damaged, or no memory. */
struct row_stream *row_stream_start(void *body, size_t bytes);
/* Of the whole text. */
size_t row_stream_text_bytes(const struct row_stream *s);
/* About what the stream holds in memory. */
size_t row_stream_memory(const struct row_stream *s);
/* The next piece of the text: its bytes, 0 at the end, -1: the body is damaged. */
ssize_t row_stream_read(struct row_stream *s, char *to, size_t size);
void row_stream_free(struct row_stream *s);

#endif
