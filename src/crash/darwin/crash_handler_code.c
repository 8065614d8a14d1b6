/* SPDX-License-Identifier: MIT
 *
 * The codes of Darwin's signals. SEGV, BUS and TRAP have Linux's numbers. Pure.
 */
#include <signal.h>

#include "crash/darwin/crash_handler.h"

#define FROM_A_SENDER 0x10000 /* SI_USER is the smallest code of a signal that was sent */

int hd_crash_code(int signal, int code) {
    /* by Darwin's number: none, ILLOPC, ILLTRP, PRVOPC, ILLOPN, ILLADR, PRVREG, COPROC, BADSTK */
    static const unsigned char ill[] = {0, 1, 4, 5, 2, 3, 6, 7, 8};
    /* none, FLTDIV, FLTOVF, FLTUND, FLTRES, FLTINV, FLTSUB, INTDIV, INTOVF */
    static const unsigned char fpe[] = {0, 3, 4, 5, 6, 7, 8, 1, 2};
    if (code <= 0 || code >= FROM_A_SENDER) {
        return 0;
    }
    if (signal == SIGILL) {
        return code < (int)sizeof ill ? ill[code] : code;
    }
    if (signal == SIGFPE) {
        return code < (int)sizeof fpe ? fpe[code] : code;
    }
    return code;
}
