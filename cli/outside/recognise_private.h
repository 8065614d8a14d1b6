/* SPDX-License-Identifier: MIT
 *
 * The memory of a recogniser.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_PRIVATE_H
#define CLI_OUTSIDE_RECOGNISE_PRIVATE_H

#include "cli/outside/recognise.h"
#include "cli/outside/recognise_parked.h"
#include "cli/outside/recognise_rule.h"

/* The waits of one kind. */
struct known_wait {
    bool used;
    bool pending; /* its stack is not read yet */
    bool blocks;
    uint8_t verdict; /* as the hook has it */
    int32_t nr;
    uint64_t pc, sp, object;
    uint64_t first_ns; /* when its first wait began */
    uint32_t arg;      /* the descriptor of the epoll instance or io_uring */
    struct hd_wait_descriptors descriptors;
    struct hd_wait_seen seen;
    uint64_t counted_waits, counted_ns;
};

struct outside_recogniser {
    struct outside_rule rule;
    struct known_wait *kind; /* by the hook's numbers */
    uint32_t kinds;
    bool pool;             /* a thread of a pool whose threads take turns in one loop */
    bool closed;           /* the last judgement found that the program had left the loop */
    bool left, again_soon; /* the program has left the loop; it may have */
    bool waited;           /* at the last judgement the thread was in the loop's wait */
    uint64_t parked_sp;    /* its stack pointer when another thread served the loop; 0: not seen */
    struct outside_parked parked;
    uint64_t sight_ns; /* of the last new kind */
    uint64_t judged_ns, turns, order;
};

#endif
