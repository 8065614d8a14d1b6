/* SPDX-License-Identifier: MIT
 *
 * Files that `--watch` passes over for a while: the collector has refused them, or they are no reports. What
 * a clock or a limit refused may pass later; a later version of the collector may take the others. One
 * thread.
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

/* For so many seconds from now. True: it is new, or for another reason than before, and to be printed. */
bool passed_over_add(struct passed_over *p, const char *path, const char *why, int64_t seconds);
bool passed_over_is(const struct passed_over *p, const char *path);
void passed_over_free(struct passed_over *p);

#endif
