/* SPDX-License-Identifier: MIT
 *
 * Includes the CPU's registers as the kernel stores them when a program enters the kernel. For BPF programs.
 */
#ifndef HD_REGISTERS_H
#define HD_REGISTERS_H

#if defined(__TARGET_ARCH_x86)
#include "registers_x86_64.h"
#elif defined(__TARGET_ARCH_arm64)
#include "registers_aarch64.h"
#else
#error "no registers known for this machine: add a header here"
#endif

#endif
