/* SPDX-License-Identifier: MIT
 *
 * The worst hangs of a watch, as the table below its last line.
 */
#ifndef CLI_HANG_ROWS_H
#define CLI_HANG_ROWS_H

#include <stdbool.h>

#include "cli/reporter/hang_table.h"

/* `kept`: their reports are in the spool, so they have ids. */
void hang_rows_print(const struct hang_table *hangs, bool kept, bool colour);

#endif
