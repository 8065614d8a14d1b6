/* SPDX-License-Identifier: MIT
 *
 * Where a module's debug information is, and whether it may be opened.
 */
#ifndef SYMBOLIZER_DW_DEBUG_FILE_H
#define SYMBOLIZER_DW_DEBUG_FILE_H

#include "symbolizer/dw_module.h"

/* libdwfl's callbacks that find a module's debug file, and what several such share. A link that leads to what
 * is no file, a device or a named pipe, is not followed: the module has no debug information then. The second
 * one asks no server. */
int dw_find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                       const char *link, GElf_Word crc, char **found);
int dw_find_debug_file_here(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                            const char *file, const char *link, GElf_Word crc, char **found);

/* Whether a unit's functions are told by a file of their own (.dwo) that may be opened, or is not there. */
bool dw_may_open_split(const struct module *m, Dwarf_Die *unit);

#endif
