/* SPDX-License-Identifier: MIT
 *
 * What can be read of an ELF module in memory, through fallible reads only. Every figure in it may be
 * garbage: the module may be unloaded while it is read. For what finds modules. Worker: may run while a hang
 * is on, no allocation.
 */
#ifndef HD_IMAGE_ELF_H
#define HD_IMAGE_ELF_H

#include "image/modules.h"

#define HD_PROGRAM_HEADERS_MAX 64u /* of a module; others are not looked at */

/* Fills build_id and, if it is 0, eh_frame_hdr from the program headers of the ELF header at m->header. 0;
 * -EFAULT; -EINVAL: no ELF header there. */
int hd_elf_headers(const struct hd_memory *memory, struct hd_module *m);

/* Fills bias, of a module whose ELF header is mapped at m->header. 0; -EFAULT; -EINVAL: there is no ELF
 * header of this machine's width. */
int hd_elf_bias(const struct hd_memory *memory, struct hd_module *m);

/* The program that the kernel mapped, whose program headers are at `headers`: when the range [m->lo, m->hi)
 * is a part of it, its header is the program's, and the range becomes all of it unless the holes are large.
 * The loader knows such a program by its segments if there are holes between them. */
void hd_elf_whole_program(const struct hd_memory *memory, uint64_t headers, uint64_t count,
                          struct hd_module *m);

/* Copies a string of memory, at most n - 1 bytes, always terminated. 0; -EFAULT: nothing could be read. */
int hd_elf_read_string(const struct hd_memory *memory, uint64_t address, char *dst, size_t n);

#endif
