/* SPDX-License-Identifier: MIT */
#include "symbolizer/elf_head.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* The order of the head: ELF header, program headers, note, section headers, names of sections, symbols. */
enum {
    SEGMENTS = 2, /* the code, and the note */
    /* the sections of the head itself: the empty one, the note, the names, the symbols and their names */
    OWN_SECTIONS = 5,
    ALIGN = 8,
};

struct note {
    Elf64_Nhdr head;
    char owner[4];
    uint8_t id[16];
};

struct layout {
    size_t note, headers, names, names_bytes, symbols, end;
    unsigned sections;
};

static const char own_names[] = "\0.note.gnu.build-id\0.shstrtab\0.symtab\0.strtab";
enum {
    NAME_NOTE = 1,
    NAME_NAMES = 20,
    NAME_SYMBOLS = 30,
    NAME_STRINGS = 38,
};

static size_t align(size_t n, size_t to) {
    return (n + to - 1) / to * to;
}

static struct layout lay_out(const struct elf_head *head, size_t page) {
    struct layout l = {.sections = OWN_SECTIONS + head->sections};
    l.note = align(sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr), ALIGN);
    l.headers = align(l.note + sizeof(struct note), ALIGN);
    l.names = l.headers + l.sections * sizeof(Elf64_Shdr);
    l.names_bytes = sizeof own_names + head->sections * (size_t)ELF_HEAD_NAME_BYTES;
    l.symbols = align(l.names + l.names_bytes, ALIGN);
    l.end = align(l.symbols + (head->symbols + 1) * sizeof(Elf64_Sym), page);
    return l;
}

size_t elf_head_bytes(const struct elf_head *head, size_t page) {
    return lay_out(head, page).end;
}

static void write_header(const struct elf_head *head, const struct layout *l, uint8_t *to) {
    Elf64_Ehdr e = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC, /* the addresses are final: libdwfl moves them nowhere */
        .e_machine = head->machine,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof e,
        .e_shoff = l->headers,
        .e_ehsize = sizeof e,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = SEGMENTS,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)l->sections,
        .e_shstrndx = 2,
    };
    Elf64_Phdr p[SEGMENTS] = {
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_X,
         .p_vaddr = head->lo,
         .p_memsz = head->hi - head->lo,
         .p_align = 1},
        {.p_type = head->has_id ? PT_NOTE : PT_NULL,
         .p_offset = l->note,
         .p_filesz = sizeof(struct note),
         .p_memsz = sizeof(struct note),
         .p_align = 4},
    };
    struct note note = {.head = {.n_namesz = 4, .n_descsz = sizeof note.id, .n_type = NT_GNU_BUILD_ID},
                        .owner = "GNU"};
    memcpy(note.id, head->id, sizeof note.id);
    memcpy(to, &e, sizeof e);
    memcpy(to + sizeof e, p, sizeof p);
    memcpy(to + l->note, &note, sizeof note);
}

static void write_sections(const struct elf_head *head, const struct layout *l, uint8_t *to) {
    Elf64_Shdr s[OWN_SECTIONS] = {
        {.sh_type = SHT_NULL},
        {.sh_name = NAME_NOTE,
         .sh_type = head->has_id ? SHT_NOTE : SHT_NULL,
         .sh_offset = l->note,
         .sh_size = sizeof(struct note),
         .sh_addralign = 4},
        {.sh_name = NAME_NAMES,
         .sh_type = SHT_STRTAB,
         .sh_offset = l->names,
         .sh_size = l->names_bytes,
         .sh_addralign = 1},
        {.sh_name = NAME_SYMBOLS,
         .sh_type = SHT_SYMTAB,
         .sh_offset = l->symbols,
         .sh_size = (head->symbols + 1) * sizeof(Elf64_Sym),
         .sh_link = 4,
         .sh_info = 1,
         .sh_addralign = ALIGN,
         .sh_entsize = sizeof(Elf64_Sym)},
        {.sh_name = NAME_STRINGS,
         .sh_type = SHT_STRTAB,
         .sh_offset = l->end + head->names_offset,
         .sh_size = head->names_bytes,
         .sh_addralign = 1},
    };
    memcpy(to + l->headers, s, sizeof s);
    memcpy(to + l->names, own_names, sizeof own_names);
    for (unsigned i = 0; i < head->sections; i++) {
        const struct elf_head_section *from = &head->section[i];
        size_t name = sizeof own_names + i * (size_t)ELF_HEAD_NAME_BYTES;
        Elf64_Shdr one = {
            .sh_name = (Elf64_Word)name,
            .sh_type = from->has_bytes ? SHT_PROGBITS : SHT_NOBITS,
            .sh_flags = from->is_code ? SHF_ALLOC | SHF_EXECINSTR : 0,
            .sh_addr = from->address,
            .sh_offset = l->end + from->offset,
            .sh_size = from->bytes,
            .sh_addralign = 1,
        };
        memcpy(to + l->headers + (OWN_SECTIONS + i) * sizeof one, &one, sizeof one);
        snprintf((char *)to + l->names + name, ELF_HEAD_NAME_BYTES, "%s", from->name);
    }
}

/* The section that has the address; SHN_ABS: none. */
static uint16_t section_of(const struct elf_head *head, uint64_t address) {
    for (unsigned i = 0; i < head->sections; i++) {
        const struct elf_head_section *s = &head->section[i];
        if (s->is_code && address >= s->address && address - s->address < s->bytes) {
            return (uint16_t)(OWN_SECTIONS + i);
        }
    }
    return SHN_ABS;
}

void elf_head_write(const struct elf_head *head, size_t page, uint8_t *to) {
    struct layout l = lay_out(head, page);
    write_header(head, &l, to);
    write_sections(head, &l, to);
    for (size_t i = 0; i < head->symbols; i++) {
        const struct elf_head_symbol *from = &head->symbol[i];
        Elf64_Sym one = {
            .st_name = from->name,
            .st_info = ELF64_ST_INFO(STB_GLOBAL, from->is_function ? STT_FUNC : STT_OBJECT),
            .st_shndx = section_of(head, from->address),
            .st_value = from->address,
            .st_size = from->bytes,
        };
        memcpy(to + l.symbols + (i + 1) * sizeof one, &one, sizeof one);
    }
}
