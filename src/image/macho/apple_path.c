/* SPDX-License-Identifier: MIT */
#include "image/macho/apple_path.h"

#include <string.h>

static bool starts(const char *path, const char *with) {
    return strncmp(path, with, strlen(with)) == 0;
}

bool hd_apple_path_is_system(const char *path) {
    /* /Developer: what Xcode adds to a device. /Library/Apple: Rosetta. */
    static const char folders[][32] = {"/System/",        "/usr/lib/",   "/usr/libexec/",
                                       "/Library/Apple/", "/Developer/", "/private/preboot/Cryptexes/"};
    static const char simulator[] = "/RuntimeRoot/", inserted[] = "/libhangdog-insert.dylib";
    const char *root = strstr(path, simulator);
    if (root != NULL) {
        path = root + sizeof simulator - 2;
    }
    size_t n = strlen(path);
    /* The volume of the users' files has a path in the system's folder, too. */
    bool found = n >= sizeof inserted && strcmp(path + n + 1 - sizeof inserted, inserted) == 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        found |= starts(path, folders[i]) && !starts(path, "/System/Volumes/Data/");
    }
    return found;
}
