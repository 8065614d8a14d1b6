/* SPDX-License-Identifier: MIT
 *
 * For tests with a folder of their own.
 */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* With all that is in it. 0: it is gone. */
static inline int folder_remove(const char *path) {
    return nftw(path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
