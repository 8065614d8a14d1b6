/* SPDX-License-Identifier: MIT
 *
 * libc's `syscall`, interposed. It takes a number and up to six arguments, and nobody knows how many were
 * given: so all but a few numbers go on by a jump, with registers and stack as they came.
 */
#ifndef HD_INTERPOSE_SYSCALL_H
#define HD_INTERPOSE_SYSCALL_H

/* The next definition behind ours; NULL before it was looked up. */
extern long (*hd_real_syscall)(long, long, long, long, long, long, long);

/* The headers of older systems lack it. It is the same on all machines. */
#define HD_LANDLOCK_RESTRICT_SELF 446

/* Those by which a thread gives up rights. They take five arguments at the most. */
long hd_syscall_looked_at(long n, long a, long b, long c, long d, long e);

#endif
