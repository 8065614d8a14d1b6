/* SPDX-License-Identifier: MIT
 *
 * Exported symbols of a module in memory, by name through DT_GNU_HASH. Only fallible reads, so every figure
 * may be garbage: offsets are checked, loops are bounded. Worker: may run while a hang is on, no allocation.
 */
#include <elf.h>
#include <string.h>

#include "image/elf/elf.h"

#define DYNAMIC_ENTRIES_MAX 256u
#define SYMBOLS_MAX (1u << 20) /* more are not looked at */
#define NAME_MAX_BYTES 256u    /* of a symbol that is looked up */
#define PROGRAM_BYTES_MAX (1ull << 32)

struct tables {
    const struct hd_memory *memory;
    const struct hd_module *module;
    uint64_t symtab, strtab, hash, versym; /* versym 0: the module has no versions */
    uint64_t strtab_bytes;
    uint32_t buckets, first, bloom_words, bloom_shift;
};

/* glibc relocates the addresses in most modules' dynamic section in place, not in all (the vDSO's, riscv's).
 * The module may be a part of a program, with the tables in another part. */
static uint64_t dynamic_address(const struct hd_module *m, uint64_t value) {
    bool relocated = (value >= m->lo && value < m->hi) || value - m->header < PROGRAM_BYTES_MAX;
    return relocated ? value : value + m->bias;
}

static bool read_dynamic(struct tables *t, uint64_t at) {
    for (unsigned i = 0; i < DYNAMIC_ENTRIES_MAX; i++) {
        Elf64_Dyn d;
        if (!hd_memory_read(t->memory, at + i * sizeof d, &d, sizeof d)) {
            return false;
        }
        if (d.d_tag == DT_NULL) {
            break;
        }
        if (d.d_tag == DT_SYMTAB) {
            t->symtab = dynamic_address(t->module, d.d_un.d_ptr);
        } else if (d.d_tag == DT_STRTAB) {
            t->strtab = dynamic_address(t->module, d.d_un.d_ptr);
        } else if (d.d_tag == DT_STRSZ) {
            t->strtab_bytes = d.d_un.d_val;
        } else if (d.d_tag == DT_GNU_HASH) {
            t->hash = dynamic_address(t->module, d.d_un.d_ptr);
        } else if (d.d_tag == DT_VERSYM) {
            t->versym = dynamic_address(t->module, d.d_un.d_ptr);
        }
    }
    return t->symtab != 0 && t->strtab != 0 && t->hash != 0;
}

static bool open_tables(struct hd_modules *m, uint32_t index, struct tables *t) {
    Elf64_Ehdr e;
    Elf64_Phdr ph;
    uint32_t head[4];
    if (index >= m->count || m->module[index].gone) {
        return false;
    }
    *t = (struct tables){.memory = &m->memory, .module = &m->module[index]};
    if (!hd_memory_read(t->memory, t->module->header, &e, sizeof e) ||
        memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    for (unsigned i = 0; i < e.e_phnum && i < HD_PROGRAM_HEADERS_MAX; i++) {
        if (!hd_memory_read(t->memory, t->module->header + e.e_phoff + i * sizeof ph, &ph, sizeof ph)) {
            return false;
        }
        if (ph.p_type != PT_DYNAMIC) {
            continue;
        }
        if (!read_dynamic(t, t->module->bias + ph.p_vaddr) ||
            !hd_memory_read(t->memory, t->hash, head, sizeof head)) {
            return false;
        }
        t->buckets = head[0];
        t->first = head[1];
        t->bloom_words = head[2];
        t->bloom_shift = head[3] & 63;
        return t->buckets != 0 && t->bloom_words != 0;
    }
    return false;
}

static uint64_t buckets_at(const struct tables *t) {
    return t->hash + 16 + (uint64_t)t->bloom_words * 8;
}

static uint64_t chain_at(const struct tables *t, uint32_t symbol) {
    return buckets_at(t) + (uint64_t)t->buckets * 4 + (uint64_t)(symbol - t->first) * 4;
}

/* True for functions and variables: the caller knows the kind of each name. */
static bool is_defined(const Elf64_Sym *s) {
    return s->st_shndx != SHN_UNDEF && s->st_value != 0 && ELF64_ST_TYPE(s->st_info) != STT_TLS;
}

static uint32_t gnu_hash(const char *name) {
    uint32_t h = 5381;
    for (; *name != 0; name++) {
        h = h * 33 + (uint8_t)*name;
    }
    return h;
}

static bool is_named(const struct tables *t, const Elf64_Sym *s, const char *name, size_t length) {
    char there[NAME_MAX_BYTES];
    return s->st_name < t->strtab_bytes && length < sizeof there &&
           hd_memory_read(t->memory, t->strtab + s->st_name, there, length + 1) &&
           memcmp(there, name, length + 1) == 0;
}

/* An older version of a function, for programs that were built against an older library. */
static bool is_hidden(const struct tables *t, uint32_t symbol) {
    enum {
        HIDDEN = 0x8000
    };
    uint16_t version = 0;
    return t->versym != 0 &&
           hd_memory_read(t->memory, t->versym + (uint64_t)symbol * sizeof version, &version,
                          sizeof version) &&
           (version & HIDDEN) != 0;
}

uint64_t hd_module_symbol(struct hd_modules *m, uint32_t index, const char *name) {
    struct tables t;
    uint32_t symbol, hash = gnu_hash(name);
    uint64_t bloom, hidden = 0;
    size_t length = strlen(name);
    if (!open_tables(m, index, &t) ||
        !hd_memory_read(t.memory, t.hash + 16 + (uint64_t)(hash / 64 % t.bloom_words) * 8, &bloom,
                        sizeof bloom) ||
        (bloom >> hash % 64 & bloom >> (hash >> t.bloom_shift) % 64 & 1) == 0 ||
        !hd_memory_read(t.memory, buckets_at(&t) + (uint64_t)(hash % t.buckets) * 4, &symbol,
                        sizeof symbol) ||
        symbol < t.first) {
        return 0;
    }
    for (uint32_t end = symbol + SYMBOLS_MAX; symbol < end; symbol++) {
        uint32_t link;
        Elf64_Sym s;
        if (!hd_memory_read(t.memory, chain_at(&t, symbol), &link, sizeof link)) {
            return 0;
        }
        if ((link | 1) == (hash | 1) &&
            hd_memory_read(t.memory, t.symtab + (uint64_t)symbol * sizeof s, &s, sizeof s) &&
            is_defined(&s) && is_named(&t, &s, name, length)) {
            if (!is_hidden(&t, symbol)) {
                return t.module->bias + s.st_value;
            }
            hidden = t.module->bias + s.st_value;
        }
        if ((link & 1) != 0) {
            break;
        }
    }
    return hidden;
}
