/* SPDX-License-Identifier: MIT
 *
 * The version that a report's app has, as lists and groups show it. Ordinary code.
 */
#ifndef CLI_REPORT_VERSION_H
#define CLI_REPORT_VERSION_H

#include <jansson.h>

/* The app's own version; else the first digits of the program's build-id, which differ between builds. An
 * interpreter's build-id says nothing of the app. NULL: not known. The text is the report's; *bytes: of it
 * are the version. */
const char *report_version(const json_t *report, size_t *bytes);

#endif
