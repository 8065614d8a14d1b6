/* SPDX-License-Identifier: MIT
 *
 * What can be read of an ELF module in memory, through fallible reads only. Every figure in it may be garbage: the module
 * may be unloaded while it is read. Private to src/image. Worker: may run while a hang is on, no allocation.
 */
#ifndef HD_IMAGE_ELF_H
#define HD_IMAGE_ELF_H

#include "image/image.h"

/* Fills build_id and, if it is 0, eh_frame_hdr from the program headers of the ELF header at m->lo. 0; -EFAULT; -EINVAL: no
 * ELF header there. */
int hd_elf_headers(const struct hd_memory *memory, struct hd_module *m);

/* Difference of memory and file addresses by the program headers, for a module that no loader's record tells of. */
int hd_elf_bias(const struct hd_memory *memory, uint64_t header, uint64_t *bias);

/* Copies a string of memory, at most n - 1 bytes, always terminated. 0; -EFAULT: nothing could be read. */
int hd_memory_string(const struct hd_memory *memory, uint64_t address, char *dst, size_t n);

#endif
