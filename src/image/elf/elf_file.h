/* SPDX-License-Identifier: MIT
 *
 * The head of a program's file: its ELF header, segments, sections, loader, or a script's interpreter. The
 * file may be garbage: each read is checked, each loop is bounded. Any thread; async-signal-safe, no
 * allocation.
 */
#ifndef HD_IMAGE_ELF_FILE_H
#define HD_IMAGE_ELF_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct hd_elf_file {
    int fd; /* the caller's */
    ElfW(Ehdr) head;
};

/* False: no ELF file. Of a file of the other class only `e_ident` and `e_machine` have a meaning. */
bool hd_elf_file_read(struct hd_elf_file *f, int fd);

/* Segment or section number `i`. False: there is none, or the file is broken. */
bool hd_elf_file_segment(const struct hd_elf_file *f, unsigned i, ElfW(Phdr) * p);
bool hd_elf_file_section(const struct hd_elf_file *f, unsigned i, ElfW(Shdr) * s);

/* The first section of that name, of at most 31 bytes. False: there is none. */
bool hd_elf_file_section_called(const struct hd_elf_file *f, const char *name, ElfW(Shdr) * s);

/* The loader that the file requires; empty: none. False: the file is broken, or the name is too long. */
bool hd_elf_file_loader(const struct hd_elf_file *f, char *path, size_t size);

/* The interpreter in a script's first line, as the kernel reads it; `head` is terminated. False: no script.
 */
bool hd_elf_script_interpreter(const char *head, char *path, size_t size);

#endif
