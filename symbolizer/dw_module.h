/* SPDX-License-Identifier: MIT
 *
 * What the files of the libdw symbolizer share; nobody else includes this.
 */
#ifndef SYMBOLIZER_DW_MODULE_H
#define SYMBOLIZER_DW_MODULE_H

#include "symbolizer/answers.h"
#include "symbolizer/string_pool.h"
#include "symbolizer/symbolizer.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct unit_range {
    Dwarf_Addr lo, hi;
    Dwarf_Off unit; /* offset of the unit's DIE */
};

struct module {
    struct module *next;
    char *path, *build_id; /* build_id NULL: none */
    int64_t changed_s;     /* its file, or the name of it, was last; 0: it is no file */
    Dwfl *dwfl;            /* NULL: cannot be read, and `reason` says why */
    Dwfl_Module *module;
    Dwarf_Addr bias; /* libdwfl's addresses less the file's own */
    const char *reason;
    bool odd_debug_file;      /* a link led to what is no file; debug information is not read */
    struct unit_range *range; /* for files without .debug_aranges, as clang makes them */
    size_t ranges;
    bool ranges_read;
    struct answers answers;
};

struct symbolizer {
    struct module *modules;
    struct strings strings;
    char *debug_path;
    int (*open)(void *arg, const char *path, unsigned which);
    void *open_arg;
    Dwfl_Callbacks callbacks;
};

/* The module of that file and build-id, opened at first sight; its `reason` says when it cannot be read.
 * NULL: no memory. */
struct module *dw_module(struct symbolizer *s, const char *path, const char *build_id);
void dw_modules_free(struct symbolizer *s);

/* libdwfl's callbacks that find a module's debug file, and what several such share. A link that leads to what
 * is no file, a device or a named pipe, is not followed: the module has no debug information then. The second
 * one asks no server. */
int dw_find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                       const char *link, GElf_Word crc, char **found);
int dw_find_debug_file_here(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                            const char *file, const char *link, GElf_Word crc, char **found);

/* Whether a unit's functions are told by a file of their own (.dwo) that may be opened, or is not there. */
bool dw_may_open_split(const struct module *m, Dwarf_Die *unit);

/* The unit of an address (libdwfl's), by the table of addresses or, without one, by the units' own ranges. */
bool dw_find_unit(struct module *m, Dwarf_Addr addr, Dwarf_Die *unit, Dwarf_Addr *bias);

/* The functions around an address of a unit, inlined ones too, innermost first; how many. None where
 * namespaces, types and functions without the address nest deeper than that. */
#define DW_LEVELS_MAX 512
size_t dw_functions_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die found[DW_LEVELS_MAX]);

/* The plainest of the exported names of the function that begins at `entry`; `name` when there is no plainer
 * one: read, not __libc_read. */
const char *dw_plainest_name(struct symbolizer *s, struct module *m, const char *name, GElf_Addr entry);

#endif
