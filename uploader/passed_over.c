/* SPDX-License-Identifier: MIT */
#include "uploader/passed_over.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CLOCK_BOOTTIME counts suspended time too, and does not jump. */
static int64_t now_s(void) {
    struct timespec now;
    return clock_gettime(CLOCK_BOOTTIME, &now) == 0 ? now.tv_sec : 0;
}

static struct passed_over_file *find(const struct passed_over *p, const char *path) {
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->file[i].path, path) == 0) {
            return &p->file[i];
        }
    }
    return NULL;
}

/* An entry that was not renewed for a day: the file is gone. */
static struct passed_over_file *find_stale(const struct passed_over *p) {
    for (size_t i = 0; i < p->count; i++) {
        if (p->file[i].until_s + PASSED_OVER_DAY_S < now_s()) {
            return &p->file[i];
        }
    }
    return NULL;
}

static struct passed_over_file *make(struct passed_over *p, const char *path) {
    struct passed_over_file *file = find_stale(p);
    char *copy = strdup(path);
    if (file == NULL && copy != NULL) {
        struct passed_over_file *more = realloc(p->file, (p->count + 1) * sizeof *more);
        p->file = more != NULL ? more : p->file;
        file = more != NULL ? &p->file[p->count++] : NULL;
    } else if (copy != NULL) {
        free(file->path);
        free(file->why);
    }
    if (file == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    file->path = copy;
    file->why = NULL;
    file->until_s = 0;
    return file;
}

bool passed_over_add(struct passed_over *p, const char *path, const char *why, int64_t seconds) {
    struct passed_over_file *file = find(p, path);
    if (file == NULL && (file = make(p, path)) == NULL) {
        return true;
    }
    bool is_new = file->why == NULL || strcmp(file->why, why) != 0;
    if (is_new) {
        free(file->why);
        file->why = strdup(why);
    }
    file->until_s = now_s() + seconds;
    return is_new;
}

bool passed_over_is(const struct passed_over *p, const char *path) {
    const struct passed_over_file *file = find(p, path);
    return file != NULL && now_s() < file->until_s;
}

void passed_over_free(struct passed_over *p) {
    for (size_t i = 0; i < p->count; i++) {
        free(p->file[i].path);
        free(p->file[i].why);
    }
    free(p->file);
    *p = (struct passed_over){0};
}
