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

#endif
