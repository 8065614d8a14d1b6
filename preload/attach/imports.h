/* SPDX-License-Identifier: MIT
 *
 * Finds out which functions the main program imports. Runs before main, and does not allocate.
 */
#ifndef HD_IMPORTS_H
#define HD_IMPORTS_H

#include <stdbool.h>

#define HD_IMPORT_BYTES 8 /* the size of a name, with the NUL */

/* True: the executable imports a function of `names`, and so may call it. Imports of libraries do not
 * count. */
bool hd_main_program_imports(const char names[][HD_IMPORT_BYTES], unsigned count);

#endif
