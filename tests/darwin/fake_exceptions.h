/* SPDX-License-Identifier: MIT
 *
 * A fake of the calls of Mach for exceptions: a test raises one, and sees what becomes of it.
 */
#ifndef HD_FAKE_EXCEPTIONS_H
#define HD_FAKE_EXCEPTIONS_H

#include "crash/darwin/mach_exceptions.h"

struct fake_exceptions {
    int take_rc;
    bool taken, closed, receives; /* `receives`: a thread waits for an exception, or has one */
    char log[32];                 /* t take, x restore, f refuse, c close */
    bool raised;
    struct hd_mach_exception exception;
};

extern struct fake_exceptions fake_exceptions;

void fake_exceptions_reset(void);
/* Raises an exception, and waits until it is answered. */
void fake_exceptions_raise(const struct hd_mach_exception *exception);

#endif
