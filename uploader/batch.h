/* SPDX-License-Identifier: MIT
 *
 * Reports that are sent in one request. One thread.
 */
#ifndef UPLOADER_BATCH_H
#define UPLOADER_BATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define BATCH_REPORTS 100
#define BATCH_BYTES ((size_t)8 << 20)

struct batch_item {
    char *path;
    struct stat file;   /* when read: a file that has changed since is not removed */
    size_t start, size; /* of the report's line in `lines` */
};

struct batch {
    char *lines;
    size_t bytes, size;
    struct batch_item item[BATCH_REPORTS];
    size_t count;
};

/* False: no memory. */
bool batch_add(struct batch *b, const json_t *report, const char *path, const struct stat *file);
bool batch_is_full(const struct batch *b);
void batch_clear(struct batch *b);

/* Removes the file of an item, unless it has changed. */
void batch_remove_file(const struct batch_item *item);

#endif
