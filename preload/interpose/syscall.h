/* SPDX-License-Identifier: MIT
 * libc's `syscall`, interposed. The number of arguments, up to six, is not known. For all but a few calls the
 * interposer therefore jumps to the real function, with registers and stack unchanged.
 */
#ifndef HD_INTERPOSE_SYSCALL_H
#define HD_INTERPOSE_SYSCALL_H

/* The real function; NULL before the lookup. */
extern long (*hd_real_syscall)(long, long, long, long, long, long, long);

/* Missing in headers of older systems. The same number on all machines. */
#define HD_LANDLOCK_RESTRICT_SELF 446

/* Makes a system call by which a thread may give up rights. Such calls have at most five arguments. */
long hd_syscall_wrapped(long n, long a, long b, long c, long d, long e);

#endif
