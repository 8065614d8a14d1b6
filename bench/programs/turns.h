/* SPDX-License-Identifier: MIT
 *
 * What `turns` is asked on its standard input: so many turns of one kind or the other.
 */
#ifndef BENCH_PROGRAMS_TURNS_H
#define BENCH_PROGRAMS_TURNS_H

#include <stdint.h>

struct turns_wanted {
    uint32_t waiting; /* an eventfd is written, waited for, read */
    uint32_t empty;   /* epoll_wait with zero timeout that finds nothing */
};

#endif
