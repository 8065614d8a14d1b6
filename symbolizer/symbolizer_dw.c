/* SPDX-License-Identifier: MIT
 *
 * The symbolizer on elfutils' libdw: one Dwfl for each module's file. Ordinary code.
 */
#include "symbolizer/strings.h"
#include "symbolizer/symbolizer.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unit_range {
    Dwarf_Addr lo, hi;
    Dwarf_Off unit; /* offset of the unit's DIE */
};

struct module {
    struct module *next;
    char *path, *build_id; /* build_id NULL: none */
    Dwfl *dwfl;            /* NULL: cannot be read, and `reason` says why */
    Dwfl_Module *module;
    Dwarf_Addr bias; /* libdwfl's addresses less the file's own */
    const char *reason;
    struct unit_range *range; /* for files without .debug_aranges, as clang makes them */
    size_t ranges;
    bool ranges_read;
};

struct symbolizer {
    struct module *modules;
    struct strings strings;
    char *debug_path;
    Dwfl_Callbacks callbacks;
};

/* ---- modules ------------------------------------------------------------------------------ */

static const char *keep_reason(struct symbolizer *s, const char *what, const char *why) {
    char text[256];
    snprintf(text, sizeof text, why != NULL ? "%s: %s" : "%s", what, why);
    const char *kept = strings_keep(&s->strings, text);
    return kept != NULL ? kept : "out of memory";
}

/* Opens the file when it is an ordinary one: another kind could block for ever. */
static int open_file(struct symbolizer *s, struct module *m) {
    struct stat st;
    if (m->path[0] != '/') {
        m->reason = "it is no file";
        return -1;
    }
    int fd = open(m->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        m->reason = keep_reason(s, "its file cannot be opened", strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        m->reason = "it is no ordinary file";
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_same_build(Dwfl_Module *module, const char *wanted) {
    const unsigned char *bits;
    GElf_Addr at;
    int n = dwfl_module_build_id(module, &bits, &at);
    size_t have = n > 0 ? (size_t)n : 0, want = wanted == NULL ? 0 : strlen(wanted);
    if (want != have * 2)
        return false;
    for (size_t i = 0; i < have; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", bits[i]);
        if (memcmp(hex, wanted + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

static void open_module(struct symbolizer *s, struct module *m) {
    int fd = open_file(s, m);
    if (fd < 0)
        return;
    m->dwfl = dwfl_begin(&s->callbacks);
    if (m->dwfl == NULL) {
        m->reason = "out of memory";
        close(fd);
        return;
    }
    dwfl_report_begin(m->dwfl);
    m->module = dwfl_report_elf(m->dwfl, m->path, m->path, fd, 0, false); /* takes fd on success */
    if (m->module == NULL) {
        m->reason = keep_reason(s, "its file cannot be read", dwfl_errmsg(-1));
        close(fd);
    } else if (dwfl_report_end(m->dwfl, NULL, NULL) != 0 || dwfl_module_getelf(m->module, &m->bias) == NULL) {
        m->reason = keep_reason(s, "its file cannot be read", dwfl_errmsg(-1));
    } else if (!is_same_build(m->module, m->build_id)) {
        m->reason = "its file is another one now: the build-id differs";
    }
    if (m->reason != NULL) {
        dwfl_end(m->dwfl);
        m->dwfl = NULL;
    }
}

static struct module *module_of(struct symbolizer *s, const char *path, const char *build_id) {
    for (struct module *m = s->modules; m != NULL; m = m->next)
        if (strcmp(m->path, path) == 0 &&
            (build_id == NULL || m->build_id == NULL ? build_id == m->build_id
                                                     : strcmp(m->build_id, build_id) == 0))
            return m;
    struct module *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->path = strdup(path);
    m->build_id = build_id == NULL ? NULL : strdup(build_id);
    if (m->path == NULL || (build_id != NULL && m->build_id == NULL)) {
        free(m->path);
        free(m->build_id);
        free(m);
        return NULL;
    }
    open_module(s, m);
    m->next = s->modules;
    s->modules = m;
    return m;
}

/* ---- units -------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b) {
    const struct unit_range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void add_ranges_of_unit(struct module *m, Dwarf_Die *unit, size_t *room) {
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0) {
        if (lo >= hi)
            continue;
        if (m->ranges == *room) {
            size_t bigger = *room == 0 ? 256 : *room * 2;
            struct unit_range *range = realloc(m->range, bigger * sizeof *range);
            if (range == NULL)
                return;
            m->range = range;
            *room = bigger;
        }
        m->range[m->ranges++] = (struct unit_range){lo, hi, dwarf_dieoffset(unit)};
    }
}

static void read_ranges(struct module *m) {
    Dwarf_Addr bias;
    Dwarf_Die *unit = NULL;
    size_t room = 0;
    m->ranges_read = true;
    while ((unit = dwfl_module_nextcu(m->module, unit, &bias)) != NULL)
        add_ranges_of_unit(m, unit, &room);
    if (m->ranges != 0)
        qsort(m->range, m->ranges, sizeof m->range[0], compare_ranges);
}

/* The unit of an address, by the table of addresses or, without one, by the units' own ranges. */
static bool find_unit(struct module *m, Dwarf_Addr addr, Dwarf_Die *unit, Dwarf_Addr *bias) {
    const Dwarf_Die *found = dwfl_module_addrdie(m->module, addr, bias);
    if (found != NULL) {
        *unit = *found;
        return true;
    }
    Dwarf *dwarf = dwfl_module_getdwarf(m->module, bias);
    if (dwarf == NULL)
        return false;
    if (!m->ranges_read)
        read_ranges(m);
    size_t lo = 0, hi = m->ranges; /* the last range that begins at or before the address */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (m->range[middle].lo <= addr - *bias)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == 0 || addr - *bias >= m->range[lo - 1].hi)
        return false;
    return dwarf_offdie(dwarf, m->range[lo - 1].unit, unit) != NULL;
}

/* ---- functions ---------------------------------------------------------------------------- */

static const char *keep_demangled(struct symbolizer *s, const char *name) {
    char *plain = symbolizer_demangle(name);
    const char *kept = strings_keep(&s->strings, plain);
    free(plain);
    return kept;
}

static bool is_mangled(const char *name) {
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

static const char *name_of(struct symbolizer *s, Dwarf_Die *die) {
    Dwarf_Attribute memory;
    Dwarf_Attribute *attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
    if (attribute == NULL)
        attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
    const char *name = attribute != NULL ? dwarf_formstring(attribute) : NULL;
    if (name == NULL || !is_mangled(name)) /* C's are the linker's matter: __GI___poll */
        name = dwarf_diename(die);
    return name != NULL ? keep_demangled(s, name) : NULL;
}

static size_t underscores(const char *name) {
    return strspn(name, "_");
}

static size_t bare_length(const char *name) {
    return strcspn(name, "@"); /* without a symbol version */
}

/* True when `a` is the name that people know, of two for one function: read, not __libc_read. */
static bool is_plainer(const char *a, const char *b) {
    if (underscores(a) != underscores(b))
        return underscores(a) < underscores(b);
    if (bare_length(a) != bare_length(b))
        return bare_length(a) < bare_length(b);
    return strncmp(a, b, bare_length(a)) < 0;
}

/* The plainest of the exported names of the function that begins at `entry`; `name` when there is no plainer
 * one. */
static const char *plainest_name(struct symbolizer *s, struct module *m, const char *name, GElf_Addr entry) {
    const char *best = name;
    char bare[256];
    int count = dwfl_module_getsymtab(m->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr at;
        const char *other = dwfl_module_getsym_info(m->module, i, &symbol, &at, NULL, NULL, NULL);
        if (other == NULL || at != entry || bare_length(other) == 0 ||
            GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
            continue;
        int type = GELF_ST_TYPE(symbol.st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && is_plainer(other, best))
            best = other;
    }
    if (best == name || bare_length(best) >= sizeof bare)
        return name;
    snprintf(bare, sizeof bare, "%.*s", (int)bare_length(best), best);
    return strings_keep(&s->strings, bare);
}

/* Where an inlined function was called: the place in the function that follows. */
static void read_call_place(struct symbolizer *s, Dwarf_Die *unit, Dwarf_Die *die, struct symbol *out) {
    Dwarf_Attribute memory;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &memory), &value) == 0 && value <= INT32_MAX)
        out->line = (int)value;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &memory), &value) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count)
        out->file = strings_keep(&s->strings, dwarf_filesrc(files, value, NULL, NULL));
}

/* The scopes around an address, innermost first, up to the function itself. */
static int scopes_at(Dwarf_Die *unit, Dwarf_Addr addr, Dwarf_Die **scopes) {
    Dwarf_Die *found = NULL;
    int count = dwarf_getscopes(unit, addr, &found);
    *scopes = NULL;
    if (count > 0) {
        /* Beyond an inlined function these are the scopes of its definition; what is wanted is around its
         * call. */
        Dwarf_Die innermost = found[0];
        count = dwarf_getscopes_die(&innermost, scopes);
    }
    free(found);
    return count;
}

static int resolve_by_dwarf(struct symbolizer *s, struct module *m, Dwarf_Addr addr, struct symbol *out) {
    Dwarf_Die unit, *scopes;
    Dwarf_Addr bias;
    int n = 0;
    if (!find_unit(m, addr, &unit, &bias))
        return 0;
    Dwfl_Line *line = dwfl_module_getsrc(m->module, addr);
    struct symbol next = {0}; /* file and line of the function that comes next */
    if (line != NULL)
        next.file = strings_keep(&s->strings, dwfl_lineinfo(line, NULL, &next.line, NULL, NULL, NULL));
    int count = scopes_at(&unit, addr - bias, &scopes);
    bool whole = false;
    for (int i = 0; i < count && n < SYMBOLS_MAX && !whole; i++) {
        int tag = dwarf_tag(&scopes[i]);
        whole = tag == DW_TAG_subprogram;
        if (!whole && tag != DW_TAG_inlined_subroutine)
            continue;
        out[n] = next;
        out[n].function = name_of(s, &scopes[i]);
        out[n].inlined = !whole;
        next = (struct symbol){0};
        if (!whole)
            read_call_place(s, &unit, &scopes[i], &next);
        n++;
    }
    free(scopes);
    if (!whole && n < SYMBOLS_MAX && (n != 0 || line != NULL))
        out[n++] = next; /* the function itself has no description; the symbol table may name it */
    return n;
}

/* The function that the symbol tables name for an address, and where it begins. */
static const char *name_by_symbol(struct symbolizer *s, struct module *m, Dwarf_Addr addr, uint64_t start,
                                  GElf_Addr *entry) {
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(m->module, addr, &offset, &symbol, NULL, NULL, NULL);
    if (name == NULL || name[0] == 0)
        return NULL;
    /* A symbol without a size is only the nearest one; it does not reach beyond a known beginning of a
     * function. */
    if (symbol.st_size == 0 && start != 0 && addr - offset < start + m->bias)
        return NULL;
    *entry = addr - offset;
    return keep_demangled(s, name);
}

int symbolizer_resolve(struct symbolizer *s, const struct symbol_query *q, struct symbol out[SYMBOLS_MAX],
                       const char **reason) {
    struct module *m = module_of(s, q->path, q->build_id);
    *reason = m == NULL ? "out of memory" : m->reason;
    if (*reason != NULL)
        return 0;
    Dwarf_Addr addr = q->offset - (!q->exact && q->offset != 0) + m->bias;
    GElf_Addr entry = 0;
    int n = resolve_by_dwarf(s, m, addr, out);
    const char *name = name_by_symbol(s, m, addr, q->start, &entry);
    if (n == 0 && name == NULL)
        return 0;
    if (n == 0)
        out[n++] = (struct symbol){0};
    struct symbol *whole = &out[n - 1];
    if (whole->function == NULL)
        whole->function = name;
    if (whole->function != NULL && entry != 0 && !whole->inlined && whole->function[0] == '_' &&
        !is_mangled(whole->function))
        whole->function = plainest_name(s, m, whole->function, entry);
    return n;
}

/* ---- life --------------------------------------------------------------------------------- */

/* The file is given when the module is reported; there is nothing to be found. */
static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **file,
                       Elf **elf) {
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}

struct symbolizer *symbolizer_create(const struct symbolizer_options *o) {
    struct symbolizer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    if (o->debug_path != NULL && (s->debug_path = strdup(o->debug_path)) == NULL) {
        free(s);
        return NULL;
    }
    if (!o->debuginfod) /* libdw asks them by itself */
        unsetenv("DEBUGINFOD_URLS");
    s->callbacks = (Dwfl_Callbacks){
        .find_elf = find_no_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &s->debug_path,
    };
    return s;
}

void symbolizer_destroy(struct symbolizer *s) {
    if (s == NULL)
        return;
    while (s->modules != NULL) {
        struct module *m = s->modules;
        s->modules = m->next;
        if (m->dwfl != NULL)
            dwfl_end(m->dwfl);
        free(m->range);
        free(m->path);
        free(m->build_id);
        free(m);
    }
    strings_free(&s->strings);
    free(s->debug_path);
    free(s);
}
