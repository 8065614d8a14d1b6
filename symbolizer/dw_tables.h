/* SPDX-License-Identifier: MIT
 *
 * What DWARF units and symbol tables say of an address.
 */
#ifndef SYMBOLIZER_DW_TABLES_H
#define SYMBOLIZER_DW_TABLES_H

#include "symbolizer/dw_module.h"

/* The unit of an address (libdwfl's), by the table of addresses or, without one, by the units' own ranges. */
bool dw_find_unit(struct module *m, Dwarf_Addr addr, Dwarf_Die *unit, Dwarf_Addr *bias);

/* The plainest of the exported names of the function that begins at `entry`; `name` when there is no plainer
 * one: read, not __libc_read. */
const char *dw_plainest_name(struct symbolizer *s, struct module *m, const char *name, GElf_Addr entry);

#endif
