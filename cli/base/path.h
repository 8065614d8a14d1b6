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

/* The same of a source file, with its folder where the name says nothing: "requests/__init__.py". */
static inline const char *file_name(const char *path) {
    static const char *const plain[] = {"__init__.py", "__main__.py", "index.js",  "index.mjs", "index.cjs",
                                        "index.ts",    "index.jsx",   "index.tsx", "mod.rs"};
    const char *name = base_name(path);
    for (size_t i = 0; name != NULL && name > path + 1 && i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i]) == 0) {
            for (name--; name > path && name[-1] != '/'; name--) {
            }
            return name;
        }
    }
    return name;
}

#endif
