/* SPDX-License-Identifier: MIT
 *
 * The head of an ELF file for sections that lie elsewhere: libdw reads ELF files only, and Apple's programs
 * are Mach-O files. The head has the ELF header, a build-id note, section headers and a table of symbols.
 * Pure; allocates.
 */
#ifndef SYMBOLIZER_ELF_HEAD_H
#define SYMBOLIZER_ELF_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_HEAD_SECTIONS_MAX 96u
#define ELF_HEAD_NAME_BYTES 32u

struct elf_head_section {
    char name[ELF_HEAD_NAME_BYTES];
    uint64_t address; /* in the file's own numbering; 0 for debug information */
    uint64_t offset;  /* of the bytes in the file behind the head */
    uint64_t bytes;
    bool is_code;   /* loaded and executable; its bytes are not needed */
    bool has_bytes; /* false: the file has no bytes for the section */
};

struct elf_head_symbol {
    uint32_t name; /* offset in the file's table of names */
    bool is_function;
    uint64_t address, bytes;
};

struct elf_head {
    uint16_t machine; /* EM_X86_64, EM_AARCH64 */
    uint8_t id[16];
    bool has_id;
    uint64_t lo, hi; /* the addresses of the code */
    struct elf_head_section section[ELF_HEAD_SECTIONS_MAX];
    unsigned sections;
    struct elf_head_symbol *symbol;
    size_t symbols;
    uint64_t names_offset, names_bytes; /* the table of names in the file behind the head */
};

/* The number of bytes of the head, a multiple of `page`. The file's bytes follow the head. */
size_t elf_head_bytes(const struct elf_head *head, size_t page);
/* Writes the head to `to`, which has elf_head_bytes zeroed bytes. */
void elf_head_write(const struct elf_head *head, size_t page, uint8_t *to);

#endif
