/* SPDX-License-Identifier: MIT */
#include "uploader/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/reader/report_find.h"

#define DAY_S 86400

bool budget_open(struct budget *b, int64_t limit, struct problem *why) {
    char *folder = reports_default_folder(why);
    b->limit = limit;
    if (folder == NULL) {
        return false;
    }
    int n = snprintf(b->path, sizeof b->path, "%s/.upload-bytes", folder);
    free(folder);
    if (n < 0 || (size_t)n >= sizeof b->path) {
        error_set(why, "cannot count bytes: the path of the reports' folder is too long");
        return false;
    }
    return true;
}

static int64_t used_on(const struct budget *b, int64_t day) {
    long long written = -1, used = 0;
    FILE *file = fopen(b->path, "re");
    if (file != NULL) {
        if (fscanf(file, "%lld %lld", &written, &used) != 2 || written != day || used < 0) {
            used = 0;
        }
        fclose(file);
    }
    return used;
}

bool budget_take(const struct budget *b, size_t bytes) {
    const int64_t day = (int64_t)time(NULL) / DAY_S, used = used_on(b, day);
    char next[PATH_MAX + 8];
    if ((int64_t)bytes > b->limit || used > b->limit - (int64_t)bytes) {
        return false;
    }
    snprintf(next, sizeof next, "%s.new", b->path);
    FILE *file = fopen(next, "we");
    bool written =
        file != NULL && fprintf(file, "%lld %lld\n", (long long)day, (long long)used + (long long)bytes) > 0;
    if (file != NULL) {
        written = fclose(file) == 0 && written;
    }
    return written && rename(next, b->path) == 0;
}
