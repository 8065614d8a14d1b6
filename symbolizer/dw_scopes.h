/* SPDX-License-Identifier: MIT
 *
 * The functions around an address.
 */
#ifndef SYMBOLIZER_DW_SCOPES_H
#define SYMBOLIZER_DW_SCOPES_H

#include <elfutils/libdw.h>
#include <stddef.h>

/* The functions around an address of a unit, inlined ones too, innermost first; how many. None where
 * namespaces, types and functions without the address nest deeper than that. */
#define DW_LEVELS_MAX 512
size_t dw_functions_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die found[DW_LEVELS_MAX]);

#endif
