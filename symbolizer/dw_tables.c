/* SPDX-License-Identifier: MIT
 *
 * Units by address, and names by the symbol tables. Ordinary code.
 */
#include "symbolizer/dw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- units -------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b) {
    const struct unit_range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void add_ranges_of_unit(struct module *m, Dwarf_Die *unit, size_t *room) {
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0) {
        if (lo >= hi) {
            continue;
        }
        if (m->ranges == *room) {
            size_t bigger = *room == 0 ? 256 : *room * 2;
            struct unit_range *range = realloc(m->range, bigger * sizeof *range);
            if (range == NULL) {
                return;
            }
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
    while ((unit = dwfl_module_nextcu(m->module, unit, &bias)) != NULL) {
        add_ranges_of_unit(m, unit, &room);
    }
    if (m->ranges != 0) {
        qsort(m->range, m->ranges, sizeof m->range[0], compare_ranges);
    }
}

bool dw_find_unit(struct module *m, Dwarf_Addr addr, Dwarf_Die *unit, Dwarf_Addr *bias) {
    Dwarf *dwarf = dwfl_module_getdwarf(m->module, bias);
    if (dwarf == NULL || m->odd_debug_file) { /* libdw would look for it again, without asking */
        return false;
    }
    const Dwarf_Die *found = dwfl_module_addrdie(m->module, addr, bias);
    if (found != NULL) {
        *unit = *found;
        return true;
    }
    if (!m->ranges_read) {
        read_ranges(m);
    }
    size_t lo = 0, hi = m->ranges; /* the last range that begins at or before the address */
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (m->range[middle].lo <= addr - *bias) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    if (lo == 0 || addr - *bias >= m->range[lo - 1].hi) {
        return false;
    }
    return dwarf_offdie(dwarf, m->range[lo - 1].unit, unit) != NULL;
}

/* ---- names -------------------------------------------------------------------------------- */

static size_t underscores(const char *name) {
    return strspn(name, "_");
}

static size_t bare_length(const char *name) {
    return strcspn(name, "@"); /* without a symbol version */
}

/* True when `a` is the name that people know, of two for one function: read, not __libc_read. */
static bool is_plainer(const char *a, const char *b) {
    if (underscores(a) != underscores(b)) {
        return underscores(a) < underscores(b);
    }
    if (bare_length(a) != bare_length(b)) {
        return bare_length(a) < bare_length(b);
    }
    return strncmp(a, b, bare_length(a)) < 0;
}

/* Neither mangled nor what became of that: __gnu_cxx::f() begins with underscores, too. */
static bool is_of_c(const char *name) {
    return strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 && strpbrk(name, ":<( ") == NULL;
}

/* The plainest of the exported names of the function that begins at `entry`; `name` when there is no plainer
 * one. */
const char *dw_plainest_name(struct symbolizer *s, struct module *m, const char *name, GElf_Addr entry) {
    const char *best = name;
    char bare[256];
    if ((name[0] != '_' && strchr(name, '@') == NULL) || !is_of_c(name)) {
        return name;
    }
    int count = dwfl_module_getsymtab(m->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr at;
        const char *other = dwfl_module_getsym_info(m->module, i, &symbol, &at, NULL, NULL, NULL);
        if (other == NULL || at != entry || bare_length(other) == 0 ||
            GELF_ST_BIND(symbol.st_info) == STB_LOCAL) {
            continue;
        }
        int type = GELF_ST_TYPE(symbol.st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && is_of_c(other) && is_plainer(other, best)) {
            best = other;
        }
    }
    if (best[bare_length(best)] == '\0' && best == name) {
        return name;
    }
    if (bare_length(best) >= sizeof bare) {
        return name;
    }
    snprintf(bare, sizeof bare, "%.*s", (int)bare_length(best), best);
    return strings_keep(&s->strings, bare);
}
