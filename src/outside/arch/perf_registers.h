/* SPDX-License-Identifier: MIT
 *
 * The registers of a CPU in the kernel's samples (asm/perf_regs.h).
 */
#ifndef HD_PERF_REGISTERS_H
#define HD_PERF_REGISTERS_H

#include <asm/perf_regs.h>

#if defined(__x86_64__)
#define HD_PERF_SP PERF_REG_X86_SP
#elif defined(__aarch64__)
#define HD_PERF_SP PERF_REG_ARM64_SP
#else
#error "no sampled registers known for this machine: add them here"
#endif

#endif
