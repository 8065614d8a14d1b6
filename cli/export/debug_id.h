/* SPDX-License-Identifier: MIT
 *
 * A module's id as symbol servers of Sentry and Breakpad name it: the first 16 bytes of the build-id, as a
 * UUID. Its first three numbers are little-endian. Pure.
 */
#ifndef CLI_EXPORT_DEBUG_ID_H
#define CLI_EXPORT_DEBUG_ID_H

#include <stdbool.h>

#define DEBUG_ID_BYTES 37

/* "c0bcc3f1-9827-fe65-3058-404b2831d9e6" of a build-id in hexadecimal digits. Fills a shorter build-id up
 * with zeros. False: the text is not a build-id, and `out` is empty. */
bool export_debug_id(char out[DEBUG_ID_BYTES], const char *build_id);
/* The same for Breakpad: capital letters without dashes, and the age 0. */
void export_breakpad_id(char out[DEBUG_ID_BYTES], const char *build_id);

#endif
