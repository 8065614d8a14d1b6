/* SPDX-License-Identifier: MIT
 *
 * Which paths are of Apple's systems. Pure: it serves the library there, and readers of reports elsewhere.
 */
#ifndef HD_IMAGE_MACHO_APPLE_PATH_H
#define HD_IMAGE_MACHO_APPLE_PATH_H

#include "base/types.h"

/* True: a file that the system or its simulator has brought, or Hangdog's inserted library. A framework in a
 * program's own folder is the program's. */
bool hd_apple_path_is_system(const char *path);

#endif
