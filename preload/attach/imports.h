/* SPDX-License-Identifier: MIT
 *
 * Finds out which functions the main program imports. Runs before main, and does not allocate.
 */
#ifndef HD_IMPORTS_H
#define HD_IMPORTS_H

#include <stdbool.h>

/* True: the executable imports a function of `names`, and so may call it. Imports of libraries do not
 * count. */
bool hd_main_program_imports(const char *const names[], unsigned count);

#endif
