/* SPDX-License-Identifier: MIT
 *
 * Reads the program's dynamic section where the kernel mapped it, without calls into the loader.
 */
#include "preload/attach/imports.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

struct dynamic {
    uintptr_t bias;
    const ElfW(Sym) * symbols;
    const char *strings;
    struct {
        const char *entries;
        size_t bytes, size;
        /* The two tables of relocations. The loader applies table [0] when the program starts. It may apply
         * an entry of table [1] only when the program first calls the entry's function. */
    } table[2];
};

/* Returns the address in memory for a value of the dynamic section. The value is an address before
 * relocation, unless the loader has already replaced it by the address in memory. */
static const void *at(const struct dynamic *d, uintptr_t value) {
    return (const void *)(value < d->bias ? value + d->bias : value); // NOLINT(performance-no-int-to-ptr)
}

static bool read_dynamic(struct dynamic *d) {
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR); // NOLINT(performance-no-int-to-ptr)
    const ElfW(Dyn) *entry = NULL;
    memset(d, 0, sizeof *d);
    for (unsigned long i = 0, n = headers != NULL ? getauxval(AT_PHNUM) : 0; i < n; i++) {
        if (headers[i].p_type == PT_PHDR) {
            d->bias = (uintptr_t)headers - headers[i].p_vaddr;
        }
    }
    for (unsigned long i = 0, n = headers != NULL ? getauxval(AT_PHNUM) : 0; i < n; i++) {
        if (headers[i].p_type == PT_DYNAMIC) {
            entry = (const void *)(d->bias + headers[i].p_vaddr); // NOLINT(performance-no-int-to-ptr)
        }
    }
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            d->symbols = at(d, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            d->strings = at(d, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            d->table[0].entries = at(d, entry->d_un.d_ptr);
            d->table[0].size = sizeof(ElfW(Rela));
            break;
        case DT_RELASZ:
            d->table[0].bytes = entry->d_un.d_val;
            break;
        case DT_JMPREL:
            d->table[1].entries = at(d, entry->d_un.d_ptr);
            d->table[1].size = sizeof(ElfW(Rela));
            break;
        case DT_PLTRELSZ:
            d->table[1].bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    return d->symbols != NULL && d->strings != NULL;
}

bool hd_main_program_imports(const char names[][HD_IMPORT_BYTES], unsigned count) {
    struct dynamic d;
    if (!read_dynamic(&d)) {
        return false;
    }
    for (unsigned t = 0; t < 2; t++) {
        for (size_t i = 0; d.table[t].size != 0 && (i + 1) * d.table[t].size <= d.table[t].bytes; i++) {
            const ElfW(Rela) *r = (const void *)(d.table[t].entries + i * d.table[t].size);
            const ElfW(Sym) *symbol = &d.symbols[ELF64_R_SYM(r->r_info)];
            for (unsigned n = 0; n < count && symbol->st_shndx == SHN_UNDEF; n++) {
                if (strcmp(d.strings + symbol->st_name, names[n]) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}
