/* SPDX-License-Identifier: MIT
 *
 * The parts of a Mach-O file: a fat file has one image for each CPU, another file is one image. The file's
 * bytes are memory, with offsets as addresses. Reads may fail; any value is safe. No allocation.
 */
#ifndef HD_IMAGE_MACHO_SLICES_H
#define HD_IMAGE_MACHO_SLICES_H

#include "base/memory.h"
#include "image/macho/fault.h"

#define HD_MACHO_SLICES_MAX 16u /* more are not looked at */

struct hd_macho_slice {
    uint32_t cpu, cpu_subtype; /* HD_MACHO_CPU_* */
    uint64_t offset, bytes;
};

struct hd_macho_slices {
    uint32_t count;
    uint8_t fault; /* enum hd_macho_fault */
    struct hd_macho_slice slice[HD_MACHO_SLICES_MAX];
};

/* 0; -EFAULT; -EINVAL: no Mach-O file, or no slice lies in the file: see out->fault. A slice that is not
 * within the `bytes` of the file is left out. */
int hd_macho_slices_read(const struct hd_memory *file, uint64_t bytes, struct hd_macho_slices *out);

/* The slice for a CPU, NULL: there is none. */
const struct hd_macho_slice *hd_macho_slice_of(const struct hd_macho_slices *s, uint32_t cpu);

#endif
