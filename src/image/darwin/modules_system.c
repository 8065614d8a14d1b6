/* SPDX-License-Identifier: MIT
 *
 * The folders of the system on Apple's systems.
 */
#include "image/macho/apple_path.h"
#include "image/modules.h"

bool hd_module_path_is_system(const char *path) {
    return hd_apple_path_is_system(path);
}
