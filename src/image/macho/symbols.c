/* SPDX-License-Identifier: MIT */
#include "image/macho/symbols.h"

#include <errno.h>
#include <string.h>

#include "image/read_string.h"

#define AT_ONCE 64u
/* Further symbols are not searched: a small file can claim four billion of them, all zero. */
#define SYMBOLS_MAX (UINT64_C(1) << 22)

struct search {
    const struct hd_memory *memory;
    const struct hd_macho_tables *tables;
    const char *name; /* NULL: any */
    size_t name_bytes;
    uint64_t pc;
    struct hd_macho_found *out;
    bool found;
};

static bool is_defined(const struct hd_macho_symbol *s) {
    return (s->type & HD_MACHO_SYMBOL_DEBUG) == 0 &&
           (s->type & HD_MACHO_SYMBOL_KIND) == HD_MACHO_SYMBOL_IN_SECTION;
}

static void take(struct search *s, const struct hd_macho_symbol *symbol) {
    *s->out = (struct hd_macho_found){
        .address = symbol->value + s->tables->slide,
        .name = symbol->name,
        .section = symbol->section,
        .external = (symbol->type & HD_MACHO_SYMBOL_EXTERNAL) != 0,
    };
    s->found = true;
}

static void consider_address(struct search *s, const struct hd_macho_symbol *symbol) {
    uint64_t address = symbol->value + s->tables->slide;
    bool external = (symbol->type & HD_MACHO_SYMBOL_EXTERNAL) != 0;
    if (address <= s->pc && (!s->found || address > s->out->address ||
                             (address == s->out->address && external && !s->out->external))) {
        take(s, symbol);
    }
}

static bool is_named(const struct search *s, uint32_t name) {
    char there[64];
    uint64_t at = s->tables->strings + name;
    if (name >= s->tables->strings_bytes || s->name_bytes > s->tables->strings_bytes - name) {
        return false;
    }
    for (size_t done = 0; done < s->name_bytes;) {
        size_t n = s->name_bytes - done < sizeof there ? s->name_bytes - done : sizeof there;
        if (!hd_memory_read(s->memory, at + done, there, n) || memcmp(there, s->name + done, n) != 0) {
            return false;
        }
        done += n;
    }
    return true;
}

static bool run(struct search *s) {
    struct hd_macho_symbol piece[AT_ONCE];
    uint64_t count = s->tables->symbol_count < SYMBOLS_MAX ? s->tables->symbol_count : SYMBOLS_MAX;
    for (uint64_t done = 0; done < count;) {
        uint64_t rest = count - done;
        size_t n = rest < AT_ONCE ? (size_t)rest : AT_ONCE;
        if (!hd_memory_read(s->memory, s->tables->symbols + done * sizeof piece[0], piece,
                            n * sizeof piece[0])) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            if (!is_defined(&piece[i])) {
                continue;
            }
            if (s->name == NULL) {
                consider_address(s, &piece[i]);
            } else if (is_named(s, piece[i].name)) {
                take(s, &piece[i]);
                return true;
            }
        }
        done += n;
    }
    return s->found;
}

bool hd_macho_symbol_at(const struct hd_memory *memory, const struct hd_macho_tables *t, uint64_t pc,
                        struct hd_macho_found *out) {
    struct search s = {.memory = memory, .tables = t, .pc = pc, .out = out};
    return run(&s);
}

bool hd_macho_symbol_named(const struct hd_memory *memory, const struct hd_macho_tables *t, const char *name,
                           struct hd_macho_found *out) {
    struct search s = {
        .memory = memory, .tables = t, .name = name, .name_bytes = strlen(name) + 1, .out = out};
    return run(&s);
}

int hd_macho_symbol_name(const struct hd_memory *memory, const struct hd_macho_tables *t, uint32_t name,
                         char *dst, size_t n) {
    if (n == 0 || name >= t->strings_bytes) {
        return -EFAULT;
    }
    uint64_t rest = t->strings_bytes - name;
    return hd_image_read_string(memory, t->strings + name, dst, rest + 1 < n ? (size_t)rest + 1 : n);
}
