/* SPDX-License-Identifier: MIT
 *
 * The last part of a path, as reports and messages show it. Ordinary code.
 */
#ifndef CLI_PATH_H
#define CLI_PATH_H

#include <string.h>

/* NULL for NULL. */
static inline const char *base_name(const char *path) {
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

#endif
