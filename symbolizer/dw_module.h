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
#include <sys/types.h>

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
    char *place;     /* without links; NULL: not looked for */
    const char *reason;
    uid_t owner;              /* of the reports that it is looked up for */
    struct remote *remote;    /* reads the file in this process's place; NULL: this one does */
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
    char *worker;
    struct remote *remotes;
    uid_t owner;
    bool is_starved;
    int64_t until_ms; /* of CLOCK_MONOTONIC; 0: for ever */
    Dwfl_Callbacks callbacks;
};

int64_t symbolizer_now_ms(void);

/* The module of that file and build-id, opened at first sight; its `reason` says when it cannot be read.
 * NULL: no memory. */
struct module *dw_module(struct symbolizer *s, const char *path, const char *build_id);
void dw_modules_free(struct symbolizer *s);

#endif
