/* SPDX-License-Identifier: MIT
 *
 * Checks whether the preload can run with a C library. Any thread; async-signal-safe; no allocation.
 */
#ifndef HD_LIBC_VERSION_H
#define HD_LIBC_VERSION_H

#include <features.h>
#include <stdbool.h>

/* The newest version of glibc that the preload library needs (`readelf -V`; tests/cli/test_program_files.py).
 * A loader ends a program whose preloaded library needs a version that its C library has not. The loader's
 * file has no name for each version: a build with older headers needs 2.16, and 2.3 is the nearest before. */
#if __GLIBC_PREREQ(2, 35)
#define HD_GLIBC_NEEDED "GLIBC_2.35"
#elif defined __aarch64__
#define HD_GLIBC_NEEDED "GLIBC_2.17" /* the first one for this CPU */
#else
#define HD_GLIBC_NEEDED "GLIBC_2.3"
#endif

/* `fd`: the file of glibc's loader, which has the name of each version that brought something into it. */
bool hd_libc_version_suffices(int fd);

#endif
