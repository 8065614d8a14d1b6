/* SPDX-License-Identifier: MIT
 * Files that `--watch` skips for a while: the collector has refused them, or they are not reports. After a
 * refusal because of a clock or a limit, a later try may succeed. A later version of the collector may accept
 * the others. One thread.
 */
#ifndef UPLOADER_PASSED_OVER_H
#define UPLOADER_PASSED_OVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASSED_OVER_DAY_S 86400
#define PASSED_OVER_HOUR_S 3600

struct passed_over {
    struct passed_over_file {
        char *path, *why;
        int64_t until_s;
    } *file;
    size_t count;
};

/* Skips the file for so many seconds. True: the file or the reason is new, and should be printed. */
bool passed_over_add(struct passed_over *p, const char *path, const char *why, int64_t seconds);
bool passed_over_is(const struct passed_over *p, const char *path);
void passed_over_free(struct passed_over *p);

#endif
