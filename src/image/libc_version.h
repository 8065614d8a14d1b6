/* SPDX-License-Identifier: MIT
 *
 * Checks whether the preload can run with a C library. Any thread; async-signal-safe; no allocation.
 */
#ifndef HD_LIBC_VERSION_H
#define HD_LIBC_VERSION_H

#include <stdbool.h>

/* The newest version of glibc that the preload library needs (`readelf -V`; tests/cli/test_program_files.py).
 * A loader ends a program whose preloaded library needs a version that its C library has not. */
#define HD_GLIBC_NEEDED "GLIBC_2.35"

/* `fd`: the file of glibc's loader, which has the name of each version that brought something into it. */
bool hd_libc_version_suffices(int fd);

#endif
