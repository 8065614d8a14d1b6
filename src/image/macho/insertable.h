/* SPDX-License-Identifier: MIT
 *
 * Whether macOS inserts a library into a program of this file (DYLD_INSERT_LIBRARIES). Where it does not, it
 * drops the variable, or ends the program. The file's bytes are memory, with offsets as addresses. Reads may
 * fail; any value is safe. No allocation.
 */
#ifndef HD_IMAGE_MACHO_INSERTABLE_H
#define HD_IMAGE_MACHO_INSERTABLE_H

#include "base/memory.h"
#include "image/macho/slices.h"

enum hd_insertable {
    HD_INSERT_FINE,
    HD_INSERT_NO_PROGRAM, /* no Mach-O file, or a broken one: hd_insertable.fault */
    HD_INSERT_OTHER_CPU,  /* no slice for this CPU */
    HD_INSERT_ARM64E,     /* the system takes the slice with signed pointers, which the library lacks */
    HD_INSERT_RESTRICTED, /* a section __RESTRICT,__restrict, or a flag of the signature */
    HD_INSERT_HARDENED,   /* hardened runtime, without the entitlement for variables of the loader */
    HD_INSERT_VALIDATED,  /* only libraries of the own signer load */
};

struct hd_insert_facts {
    struct hd_macho_slice slice; /* that the system takes */
    uint8_t fault;               /* enum hd_macho_fault */
    bool is_signed, restricted, hardened, validates;
    bool allows_variables, allows_libraries; /* entitlements */
};

/* `cpu`: of the machine, HD_MACHO_CPU_*. An arm64 machine takes arm64e before arm64, then x86-64. */
enum hd_insertable hd_macho_insertable(const struct hd_memory *file, uint64_t bytes, uint32_t cpu,
                                       struct hd_insert_facts *facts);

#endif
