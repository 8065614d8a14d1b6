/* SPDX-License-Identifier: MIT
 *
 * Includes the CPU-specific part of capturing. Each supported CPU has a header with the same functions.
 */
#ifndef HD_MACHINE_H
#define HD_MACHINE_H

#if defined(__x86_64__)
#include "capture/arch/machine_x86_64.h"
#elif defined(__aarch64__)
#include "capture/arch/machine_aarch64.h"
#else
#error "no registers known for this machine: add a header here"
#endif

#endif
