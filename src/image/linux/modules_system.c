/* SPDX-License-Identifier: MIT
 *
 * The folders of the system on Linux.
 */
#include <string.h>

#include "image/modules.h"

/* /lib, /lib64, /libx32 ..., there or in /usr. */
static bool is_below_lib(const char *path) {
    path += strncmp(path, "/usr/", 5) == 0 ? 4 : 0;
    if (strncmp(path, "/lib", 4) != 0) {
        return false;
    }
    for (path += 4; *path == 'x' || (*path >= '0' && *path <= '9'); path++) {
    }
    return *path == '/';
}

/* Of /usr/share only where libraries of scripts are: Debian's programs keep their own modules there, too. */
static bool is_shared_library(const char *path) {
    static const char places[][16] = {"nodejs/", "javascript/", "perl/",         "perl5/",
                                      "lua/",    "python3/",    "python-wheels/"};
    static const char share[] = "/usr/share/";
    bool found = false;
    for (size_t i = 0; strncmp(path, share, sizeof share - 1) == 0 && i < sizeof places / sizeof places[0];
         i++) {
        found |= strncmp(path + sizeof share - 1, places[i], strlen(places[i])) == 0;
    }
    return found;
}

bool hd_module_path_is_system(const char *path) {
    static const char ours[] = "/libhangdog-preload.so";
    size_t n = strlen(path);
    return is_below_lib(path) || is_shared_library(path) || path[0] == '[' ||
           strncmp(path, "linux-vdso", 10) == 0 ||
           (n >= sizeof ours && strcmp(path + n + 1 - sizeof ours, ours) == 0);
}
