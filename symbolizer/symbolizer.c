/* SPDX-License-Identifier: MIT
 *
 * The symbolizer on elfutils' libdw: one Dwfl for each module's file. Ordinary code.
 */
#include "symbolizer/dw.h"

#include "symbolizer/demangle.h"
#include "symbolizer/remote.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- functions ---------------------------------------------------------------------------- */

static const char *keep_demangled(struct symbolizer *s, const char *name) {
    char *plain = symbolizer_demangle(name);
    const char *kept = strings_keep(&s->strings, plain);
    free(plain);
    return kept;
}

static const char *name_of(struct symbolizer *s, Dwarf_Die *die) {
    Dwarf_Attribute memory;
    Dwarf_Attribute *attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
    if (attribute == NULL) {
        attribute = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory);
    }
    const char *name = attribute != NULL ? dwarf_formstring(attribute) : NULL;
    const char *plain = name != NULL ? keep_demangled(s, name) : NULL;
    const char *written = dwarf_diename(die);
    /* C's are the linker's matter: __GI___poll; and one that stays mangled says less */
    if (written != NULL && (plain == NULL || strcmp(plain, name) == 0)) {
        plain = keep_demangled(s, written);
    }
    return plain;
}

/* The path of a source file. Rust's own library has paths relative to the folder of compilation: without that
 * folder they would look like files of the program. */
static const char *keep_file(struct symbolizer *s, Dwarf_Die *unit, const char *file) {
    Dwarf_Attribute memory;
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &memory));
    char *whole;
    if (file == NULL || file[0] == '/' || folder == NULL || folder[0] != '/' ||
        asprintf(&whole, "%s/%s", folder, file) < 0) {
        return strings_keep(&s->strings, file);
    }
    file = strings_keep(&s->strings, whole);
    free(whole);
    return file;
}

/* The unit that has the functions: split debug information has them in a file of their own. */
static Dwarf_Die functions_of(const struct module *m, Dwarf_Die *unit) {
    Dwarf_Die split = {0};
    bool found = dw_may_open_split(m, unit) &&
                 dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.cu != NULL;
    return found ? split : *unit;
}

/* Where an inlined function was called: the place in the function that follows. */
static void read_call_place(struct symbolizer *s, Dwarf_Die *unit, Dwarf_Die *functions, Dwarf_Die *die,
                            struct symbol *out) {
    Dwarf_Attribute memory;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &memory), &value) == 0 && value <= INT32_MAX) {
        out->line = (int)value;
    }
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &memory), &value) == 0 &&
        dwarf_getsrcfiles(functions, &files, &count) == 0 && value < count) {
        out->file = keep_file(s, unit, dwarf_filesrc(files, value, NULL, NULL));
    }
}

static int resolve_by_dwarf(struct symbolizer *s, struct module *m, Dwarf_Addr addr, struct symbol *out) {
    Dwarf_Die unit, scopes[DW_LEVELS_MAX];
    Dwarf_Addr bias;
    int n = 0;
    if (!dw_find_unit(m, addr, &unit, &bias)) {
        return 0;
    }
    /* By the unit: libdwfl's own search needs .debug_aranges. */
    Dwarf_Line *line = dwarf_getsrc_die(&unit, addr - bias);
    struct symbol next = {0}; /* file and line of the function that comes next */
    if (line != NULL && dwarf_lineno(line, &next.line) == 0) {
        next.file = keep_file(s, &unit, dwarf_linesrc(line, NULL, NULL));
    }
    Dwarf_Die functions = functions_of(m, &unit);
    size_t count = dw_functions_at(&functions, addr - bias, scopes);
    bool whole = false;
    for (size_t i = 0; i < count && n < SYMBOLS_MAX && !whole; i++) {
        whole = dwarf_tag(&scopes[i]) == DW_TAG_subprogram;
        out[n] = next;
        out[n].function = name_of(s, &scopes[i]);
        out[n].inlined = !whole;
        next = (struct symbol){0};
        if (!whole) {
            read_call_place(s, &unit, &functions, &scopes[i], &next);
        }
        n++;
    }
    /* A row of the line table extends to the next row, even over code of another unit without lines (_start).
     */
    bool of_unit = n != 0 || (line != NULL && dwarf_haspc(&unit, addr - bias) > 0);
    if (!whole && n < SYMBOLS_MAX && of_unit) {
        out[n++] = next; /* the function itself has no description; the symbol table may name it */
    }
    return n;
}

/* Some linkers lay symbols of their own at a module's first byte, or give them no section that is loaded. */
static bool is_in_a_section(struct module *m, Dwarf_Addr addr) {
    Dwarf_Addr bias;
    return dwfl_module_address_section(m->module, &addr, &bias) != NULL;
}

/* The function that the symbol tables name for an address, and where it begins. */
static const char *name_by_symbol(struct symbolizer *s, struct module *m, Dwarf_Addr addr, uint64_t start,
                                  GElf_Addr *entry) {
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(m->module, addr, &offset, &symbol, NULL, NULL, NULL);
    if (name == NULL || name[0] == 0) {
        return NULL;
    }
    /* A symbol without a size is only the nearest one; it does not reach beyond a known beginning of a
     * function. */
    if (symbol.st_size == 0 &&
        ((start != 0 && addr - offset < start + m->bias) || !is_in_a_section(m, addr))) {
        return NULL;
    }
    *entry = addr - offset;
    return keep_demangled(s, name);
}

/* True: the symbol has a fuller name than the DWARF description. DWARF of gcc has only a bare name,
 * such as operator(), for a lambda or a function of an unnamed namespace. False for a symbol of a part or a
 * clone of the function, or of another function. */
static bool says_more(const char *symbol, const char *described) {
    size_t n = strlen(described);
    if (n == 0) { /* from a damaged file; the search below would not end */
        return symbol != NULL;
    }
    bool bare = strchr(described, '(') == NULL || strncmp(described, "operator()", 10) == 0;
    const char *at = symbol != NULL && bare ? strstr(symbol, described) : NULL;
    for (; at != NULL; at = strstr(at + 1, described)) {
        if ((at == symbol || at[-1] == ' ' || at[-1] == ':') && at[n] != 0 && strchr("(<[", at[n]) != NULL) {
            return strstr(symbol, " [clone ") == NULL;
        }
    }
    return false;
}

/* `start` is in the file's own numbering, `addr` in libdwfl's. */
static int resolve_in(struct symbolizer *s, struct module *m, Dwarf_Addr addr, uint64_t start,
                      struct symbol out[SYMBOLS_MAX]) {
    GElf_Addr entry = 0;
    int n = resolve_by_dwarf(s, m, addr, out);
    const char *name = name_by_symbol(s, m, addr, start, &entry);
    if (n == 0 && name == NULL) {
        return 0;
    }
    if (n == 0) {
        out[n++] = (struct symbol){0};
    }
    struct symbol *whole = &out[n - 1];
    if (whole->function == NULL || (!whole->inlined && says_more(name, whole->function))) {
        whole->function = name;
    }
    if (whole->function != NULL && entry != 0 && !whole->inlined) {
        whole->function = dw_plainest_name(s, m, whole->function, entry);
    }
    return n;
}

int64_t symbolizer_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char symbolizer_late[] = "looking them up took too long";

void symbolizer_begin(struct symbolizer *s, uid_t owner) {
    s->owner = owner;
    s->is_starved = false;
    s->until_ms = symbolizer_now_ms() + INT64_C(1000) * SYMBOLIZER_SECONDS;
}

unsigned symbolizer_unserved(const struct symbolizer *s, const char *paths[SYMBOLIZER_UNSERVED],
                             int64_t *seconds) {
    for (unsigned i = 0; i < SYMBOLIZER_UNSERVED && i < s->servers.left_out; i++) {
        paths[i] = s->servers.name[i];
    }
    *seconds = servers_answer_seconds();
    return s->servers.left_out;
}

bool symbolizer_is_starved(const struct symbolizer *s) {
    return s->is_starved;
}

int symbolizer_resolve(struct symbolizer *s, const struct symbol_query *q, struct symbol out[SYMBOLS_MAX],
                       const char **reason) {
    if (s->until_ms != 0 && symbolizer_now_ms() >= s->until_ms) {
        *reason = symbolizer_late;
        return 0;
    }
    struct module *m = dw_module(s, q->path, q->build_id);
    *reason = m == NULL ? "out of memory" : m->reason;
    /* In whole seconds: a file is dated to a tick, and a program may be built and hang within the same one.
     */
    if (*reason == NULL && q->build_id == NULL && m->changed_s > q->ran_s) {
        *reason = "its file was changed since, and has no build-id to know it by";
    }
    if (*reason != NULL) {
        return 0;
    }
    struct answer_place at = {.addr = q->offset - (!q->exact && q->offset != 0) + m->bias, .start = q->start};
    int n = answers_find(&m->answers, at, out);
    if (n < 0) {
        n = m->remote != NULL ? remote_resolve(s, m, q, at.addr, out, reason)
                              : resolve_in(s, m, at.addr, q->start, out);
        if (*reason == NULL) {
            answers_keep(&m->answers, at, out, n);
        }
    }
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
    if (s == NULL) {
        return NULL;
    }
    s->owner = geteuid();
    if ((o->debug_path != NULL && (s->debug_path = strdup(o->debug_path)) == NULL) ||
        (o->worker != NULL && (s->worker = strdup(o->worker)) == NULL) ||
        (o->symbols != NULL && (s->folders = symbol_folders_open(o->symbols)) == NULL)) {
        free(s->debug_path);
        free(s->worker);
        free(s);
        return NULL;
    }
    s->open = o->open;
    s->open_arg = o->open_arg;
    s->servers = (struct servers){.use = o->debuginfod, .on_wait = o->on_wait};
    s->callbacks = (Dwfl_Callbacks){
        .find_elf = find_no_elf,
        .find_debuginfo = dw_find_debug_file,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &s->debug_path,
    };
    return s;
}

void symbolizer_destroy(struct symbolizer *s) {
    if (s == NULL) {
        return;
    }
    dw_modules_free(s);
    remotes_free(s);
    symbol_folders_close(s->folders);
    strings_free(&s->strings);
    free(s->debug_path);
    free(s->worker);
    free(s);
}
