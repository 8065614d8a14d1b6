/* SPDX-License-Identifier: MIT */
#ifndef TEST_BUSY_H
#define TEST_BUSY_H

#include <stdbool.h>

/* Keeps the kernel busy for some 0.3 s in one call, which looks for no signal, and holds the lock of the
 * memory map for reading: the page of zeros is mapped half a million times. False: this kernel has no such
 * call. */
bool busy_in_kernel(void);

#endif
