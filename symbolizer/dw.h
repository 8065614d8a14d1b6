/* SPDX-License-Identifier: MIT
 *
 * The parts of the symbolizer that use libdw. Only symbolizer.c and remote.h include this header.
 */
#ifndef SYMBOLIZER_DW_H
#define SYMBOLIZER_DW_H

#include "symbolizer/answers.h"
#include "symbolizer/macho_file.h"
#include "symbolizer/servers.h"
#include "symbolizer/string_pool.h"
#include "symbolizer/symbol_folders.h"
#include "symbolizer/symbolizer.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <sys/types.h>

struct unit_range {
    Dwarf_Addr lo, hi;
    Dwarf_Off unit; /* offset of the unit's DIE */
};

struct module {
    struct module *next;
    char *path, *build_id; /* build_id NULL: none */
    char *file;            /* the file to open: `path`, or a file of symbols for it */
    int64_t changed_s;     /* its file, or the name of it, was last; 0: it is no file */
    Dwfl *dwfl;            /* NULL: cannot be read, and `reason` says why */
    Dwfl_Module *module;
    struct macho_file macho; /* the memory that libdwfl reads, if the file is a Mach-O file */
    Dwarf_Addr bias;         /* libdwfl's addresses less the file's own */
    char *place;             /* without links; NULL: not looked for */
    const char *reason;
    uid_t owner;           /* of the reports that it is looked up for */
    struct remote *remote; /* reads the file in this process's place; NULL: this one does */
    struct symbolizer *symbolizer;
    bool unserved;            /* counted in servers.left_out */
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
    struct symbol_folders *folders; /* NULL: the user named none */
    int (*open)(void *arg, const char *path, unsigned which);
    void *open_arg;
    char *worker;
    struct remote *remotes;
    uid_t owner;
    bool is_starved;
    int64_t until_ms; /* of CLOCK_MONOTONIC; 0: for ever */
    struct servers servers;
    Dwfl_Callbacks callbacks;
};

int64_t symbolizer_now_ms(void);

/* The module of that file and build-id, opened at first sight; its `reason` says when it cannot be read.
 * NULL: no memory. */
struct module *dw_module(struct symbolizer *s, const char *path, const char *build_id);
void dw_modules_free(struct symbolizer *s);

/* ---- dw_debug_file.c ---------------------------------------------------------------------------- */

/* libdwfl's callbacks that find a module's debug file, and a file that several modules share. They do not
 * follow a link to a device or a named pipe: the module has no debug information then. */
int dw_find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                       const char *link, GElf_Word crc, char **found);

/* True: the unit's separate file of functions (.dwo) may be opened, or does not exist. */
bool dw_may_open_split(const struct module *m, Dwarf_Die *unit);

/* ---- dw_tables.c -------------------------------------------------------------------------------- */

/* The unit of an address of libdwfl, by the table of addresses or, without one, by the units' own ranges. */
bool dw_find_unit(struct module *m, Dwarf_Addr addr, Dwarf_Die *unit, Dwarf_Addr *bias);

/* The plainest of the exported names of the function that begins at `entry`; `name` when there is no plainer
 * one: read, not __libc_read. */
const char *dw_plainest_name(struct symbolizer *s, struct module *m, const char *name, GElf_Addr entry);

/* ---- dw_scopes.c -------------------------------------------------------------------------------- */

/* Finds the functions around an address of a unit, inlined ones too, innermost first. Returns their number; 0
 * where namespaces, types and other functions nest deeper than DW_LEVELS_MAX. */
#define DW_LEVELS_MAX 512
size_t dw_functions_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die found[DW_LEVELS_MAX]);

#endif
