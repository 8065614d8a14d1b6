/* SPDX-License-Identifier: MIT
 *
 * Mach exceptions, optional and off by default. The kernel sends an exception of a thread as a message,
 * before it makes a signal of it. A thread of ours receives the message, so a crash has a report even where
 * the crashed thread has no stack for a handler. That thread then restores the ports that were there before,
 * and refuses the exception.
 */
#ifndef HD_MACH_EXCEPTIONS_H
#define HD_MACH_EXCEPTIONS_H

#include "os/darwin/mach.h"

enum hd_mach_exception_type { /* the kernel's EXC_* */
    HD_MACH_BAD_ACCESS = 1,
    HD_MACH_BAD_INSTRUCTION = 2,
    HD_MACH_ARITHMETIC = 3,
    HD_MACH_BREAKPOINT = 6,
};

struct hd_mach_exception {
    hd_port thread; /* the receiver releases it */
    int32_t type;
    int64_t code[2]; /* of a bad access: the kernel's error, and the address */
    hd_port reply;   /* where the answer goes */
    int32_t message; /* the number of the message */
};

/* The calls of Mach in one table, so that a test can fake them. Each returns 0 or a negative errno value. */
struct hd_mach_exception_calls {
    /* Takes the process's exception ports, and stores our port. The result is -EBUSY if another receiver,
     * such as a debugger, has one of them and keeps it. The result is -ENOSYS if the system has no such
     * ports. */
    int (*take)(hd_port *port);
    /* Restores the ports that the process had before. A second call does nothing. */
    void (*restore)(void);
    /* Blocks until an exception comes. An error: the port has been closed. */
    int (*receive)(hd_port port, struct hd_mach_exception *out);
    /* Answers that we have not handled the exception, so that the kernel makes a signal of it. */
    void (*refuse)(const struct hd_mach_exception *exception);
    void (*close)(hd_port port);
};
extern struct hd_mach_exception_calls hd_mach_exception_calls;

/* Starts the thread that receives exceptions. Returns 0, or why not. hd_mach_exceptions_end restores the
 * ports and ends the thread. At start and stop. */
int hd_mach_exceptions_begin(void);
void hd_mach_exceptions_end(void);

#endif
