/* SPDX-License-Identifier: MIT
 *
 * The version of an app by the files around it. Ordinary code.
 */
#ifndef CLI_APP_VERSION_H
#define CLI_APP_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/* Member `member` of the nearest package.json, in the folder of `file` or up to eight above. False: there is
 * none. */
bool app_version_package_json(const char *file, const char *member, char *text, size_t size);

/* The tag, or the first 12 digits of the commit, that the git repository around `file` has checked out. */
bool app_version_git(const char *file, char *text, size_t size);

/* The version of the Debian package that has the file, where the package has the file's name. */
bool app_version_debian(const char *file, char *text, size_t size);

#endif
