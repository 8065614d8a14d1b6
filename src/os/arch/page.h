/* SPDX-License-Identifier: MIT
 *
 * The unit in which the system maps memory. A mapping at a fixed address replaces whole units.
 */
#ifndef HD_PAGE_H
#define HD_PAGE_H

#if defined(__APPLE__) && defined(__aarch64__)
#define HD_PAGE_BYTES 16384u
#else
#define HD_PAGE_BYTES 4096u
#endif

/* Where a process may have no runner, its record is a mapped file, so it has memory of its own. */
#if defined(__APPLE__)
#define HD_RECORD_ALIGN 16384u
#else
#define HD_RECORD_ALIGN 64u
#endif

#endif
