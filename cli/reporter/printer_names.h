/* SPDX-License-Identifier: MIT
 *
 * The printer's symbolizer, which reads the files of the programs.
 */
#ifndef CLI_PRINTER_NAMES_H
#define CLI_PRINTER_NAMES_H

#include "cli/reporter/printer_state.h"
#include "symbolizer/symbolizer.h"

/* Makes it when it is first needed. The next look-ups are of this process. NULL: no memory. */
struct symbolizer *printer_symbolizer(struct printer *r, int pid);

#endif
