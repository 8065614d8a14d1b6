/* SPDX-License-Identifier: MIT
 *
 * What a program that has ended left running. Ordinary code.
 */
#ifndef HD_LEFT_BEHIND_H
#define HD_LEFT_BEHIND_H

#include <sys/types.h>

/* A process that the program forked, that went on when it ended, and that nobody watches; 0: none is seen.
 * `preload`: the path of the library. */
pid_t left_behind(const char *preload);

#endif
