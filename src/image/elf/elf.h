/* SPDX-License-Identifier: MIT
 * Reads ELF modules in memory, by reads that may fail. Every value may be garbage, since the module may be
 * unloaded during the read. For the code that finds modules. Worker; runs during a hang; no allocation.
 */
#ifndef HD_IMAGE_ELF_H
#define HD_IMAGE_ELF_H

#include "image/modules.h"

#define HD_PROGRAM_HEADERS_MAX 64u /* of a module; others are not looked at */

/* Fills entry, build_id and, if it is 0, eh_frame_hdr from the ELF header at m->header. Bias is known. 0;
 * -EFAULT; -EINVAL: no ELF header there. */
int hd_elf_headers(const struct hd_memory *memory, struct hd_module *m);

/* Fills bias, of a module whose ELF header is mapped at m->header. 0; -EFAULT; -EINVAL: there is no ELF
 * header of this machine's width. */
int hd_elf_bias(const struct hd_memory *memory, struct hd_module *m);

/* Fills eh_frame of a module without eh_frame_hdr, from the section table of the file `fd`. Bias is known.
 * For static programs, which gcc links without a header. */
void hd_elf_eh_frame(int fd, struct hd_module *m);

/* For the program that the kernel mapped, with program headers at `headers`. If [m->lo, m->hi) is a part of
 * the program, takes the program's header. Extends the range to the whole program unless the holes are large.
 * Reason: the loader lists a program with holes by segments. */
void hd_elf_whole_program(const struct hd_memory *memory, uint64_t headers, uint64_t count,
                          struct hd_module *m);

#endif
