/* SPDX-License-Identifier: MIT
 *
 * Functions that glibc before 2.34 lacks, for Debian 11 and Ubuntu 20.04. With a later one this
 * declares nothing. Any thread; closefrom and close_range are async-signal-safe.
 */
#ifndef OLD_LIBC_H
#define OLD_LIBC_H

#include <features.h>

#if !__GLIBC_PREREQ(2, 34)
#define OLD_LIBC
void old_libc_closefrom(int from);
int old_libc_close_range(unsigned from, unsigned to, int flags);
const char *old_libc_sigabbrev_np(int signal);
#define closefrom old_libc_closefrom
#define close_range old_libc_close_range
#define sigabbrev_np old_libc_sigabbrev_np
#endif

#endif
