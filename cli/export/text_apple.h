/* SPDX-License-Identifier: MIT
 *
 * A report of Apple's systems in the form of their crash reports (Technical Note TN2151, report version 104),
 * which Xcode and other symbolizers read. Ordinary code.
 */
#ifndef CLI_EXPORT_TEXT_APPLE_H
#define CLI_EXPORT_TEXT_APPLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* True: the report is of a host with macOS or iOS. */
bool text_apple_is(const json_t *report);
/* Writes header, threads and images, and then what `tree` writes. Returns what `tree` does. */
bool text_apple_put(FILE *out, const json_t *report, bool (*tree)(FILE *out, const json_t *report));

#endif
