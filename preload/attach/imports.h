/* SPDX-License-Identifier: MIT
 *
 * What the program itself asks the loader for.
 */
#ifndef HD_IMPORTS_H
#define HD_IMPORTS_H

#include <stdbool.h>

/* Whether the program itself, not a library, may call one of these functions: it asks the loader for them. */
bool hd_main_program_imports(const char *const names[], unsigned count);

#endif
