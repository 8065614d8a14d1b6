/* SPDX-License-Identifier: MIT
 *
 * A wait of a thread of another process: the thread's registers and stack in the wait, and the descriptors
 * that the wait is for. Ordinary code; the process may have written anything there.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_WAIT_H
#define CLI_OUTSIDE_RECOGNISE_WAIT_H

#include "cli/live/process.h"
#include "outside/hook.h"
#include "recognise/descriptors.h"

struct outside_wait {
    const struct live_process *process;
    pid_t tid;
    int32_t nr; /* of the system call */
    uint64_t args[6];
    struct hd_regs regs;
    const uint8_t *stack; /* NULL: not copied */
    uint64_t stack_addr;
    uint32_t stack_bytes;
};

/* True: the call is one that a loop may wait in. */
bool outside_wait_is_known(int32_t nr);
bool outside_wait_is_epoll(int32_t nr);

/* Finds the descriptors in the arguments and the memory of the wait. `object`: as a hook's sight has it.
 * False: they cannot be read. */
bool outside_wait_descriptors(const struct outside_wait *w, uint64_t object, struct hd_wait_descriptors *d);

/* True: the thread is in a system call now. Fills `nr`, `args`, and the stack pointer in `regs`. */
bool outside_wait_now(const struct live_process *p, pid_t tid, struct outside_wait *w);

#endif
