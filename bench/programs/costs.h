/* SPDX-License-Identifier: MIT
 *
 * A question to `costs` on its standard input, a line of text: the kind and how many batches. The answer is
 * the median of the batches in nanoseconds for each.
 */
#ifndef BENCH_PROGRAMS_COSTS_H
#define BENCH_PROGRAMS_COSTS_H

#define COSTS_WAIT "wait"     /* an epoll_wait with zero timeout that finds nothing */
#define COSTS_CALL "call"     /* getppid */
#define COSTS_SWITCH "switch" /* a question to another thread and its answer: two waits that block */

#endif
