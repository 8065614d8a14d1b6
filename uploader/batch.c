/* SPDX-License-Identifier: MIT */
#include "uploader/batch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool batch_add(struct batch *b, const json_t *report, const char *path, const struct stat *file) {
    char *text = json_dumps(report, JSON_COMPACT | JSON_PRESERVE_ORDER);
    size_t n = text != NULL ? strlen(text) : 0;
    char *copy = strdup(path);
    if (text != NULL && b->bytes + n + 1 > b->size) {
        size_t size = 2 * b->size > b->bytes + n + 1 ? 2 * b->size : b->bytes + n + 1;
        char *lines = realloc(b->lines, size);
        b->size = lines != NULL ? size : b->size;
        b->lines = lines != NULL ? lines : b->lines;
    }
    bool fits = text != NULL && copy != NULL && b->bytes + n + 1 <= b->size && b->count < BATCH_REPORTS;
    if (fits) {
        memcpy(b->lines + b->bytes, text, n);
        b->lines[b->bytes + n] = '\n';
        b->item[b->count++] =
            (struct batch_item){.path = copy, .file = *file, .start = b->bytes, .size = n + 1};
        b->bytes += n + 1;
    } else {
        free(copy);
    }
    free(text);
    return fits;
}

bool batch_is_full(const struct batch *b) {
    return b->count == BATCH_REPORTS || b->bytes >= BATCH_BYTES;
}

void batch_clear(struct batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        free(b->item[i].path);
    }
    free(b->lines);
    memset(b, 0, sizeof *b);
}

void batch_remove_file(const struct batch_item *item) {
    struct stat now;
    if (lstat(item->path, &now) == 0 && now.st_ino == item->file.st_ino && now.st_dev == item->file.st_dev &&
        now.st_size == item->file.st_size && now.st_mtim.tv_sec == item->file.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == item->file.st_mtim.tv_nsec) {
        unlink(item->path);
    }
}
