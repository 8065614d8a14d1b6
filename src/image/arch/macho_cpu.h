/* SPDX-License-Identifier: MIT
 *
 * The CPU of this build as Mach-O names it: the images of a process are for the process's CPU.
 */
#ifndef HD_IMAGE_ARCH_MACHO_CPU_H
#define HD_IMAGE_ARCH_MACHO_CPU_H

#include "image/macho/format.h"

#if defined(__aarch64__)
#define HD_MACHO_CPU_BUILD HD_MACHO_CPU_ARM64
#else
#define HD_MACHO_CPU_BUILD HD_MACHO_CPU_X86_64
#endif

#endif
