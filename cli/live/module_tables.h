/* SPDX-License-Identifier: MIT
 *
 * Modules of another process with unwind tables that only a file shows: gcc links a static program
 * with .eh_frame, and without .eh_frame_hdr. Ordinary code.
 */
#ifndef CLI_LIVE_MODULE_TABLES_H
#define CLI_LIVE_MODULE_TABLES_H

#include "cli/live/module_map.h"

/* As module_map_begin, and opens the file of each module without .eh_frame_hdr. */
void module_tables_begin(struct module_map *map, struct hd_modules *m);

#endif
