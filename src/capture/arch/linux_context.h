/* SPDX-License-Identifier: MIT
 *
 * Includes what depends on both Linux and the CPU: the layout of a signal's context. Each supported CPU has a
 * header with the same functions.
 */
#ifndef HD_LINUX_CONTEXT_H
#define HD_LINUX_CONTEXT_H

#if defined(__x86_64__)
#include "capture/arch/linux_context_x86_64.h"
#elif defined(__aarch64__)
#include "capture/arch/linux_context_aarch64.h"
#else
#error "no signal context known for this machine: add a header here"
#endif

#endif
