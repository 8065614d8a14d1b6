/* SPDX-License-Identifier: MIT
 *
 * The functions that the main program imports. Before main; no allocation.
 */
#ifndef HD_IMPORTS_H
#define HD_IMPORTS_H

#include <stdbool.h>

/* True: the executable, not one of the libraries, imports a function of `names`, and so may call it. */
bool hd_main_program_imports(const char *const names[], unsigned count);

#endif
