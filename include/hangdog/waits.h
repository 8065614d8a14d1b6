/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for a program that links everything: its waits are interposed, and Hangdog finds out which of them
 * is the loop's, as under `hangdog run`.
 *
 * @code
 * int main(void) {
 *     hangdog_waits_start(NULL);
 *     ...
 * }
 * @endcode
 *
 * For a loop that has no hook, such as that of a library. The functions are in libhangdog-waits.a, with
 * definitions of poll(), select(), epoll_wait(), accept() and their kin. The linker takes these before those
 * of the C library, for the program and for its shared libraries. So the program, and no plug-in, links the
 * archive: `pkg-config --libs hangdog-waits`. The C library itself must be shared.
 */
#ifndef HANGDOG_WAITS_H
#define HANGDOG_WAITS_H

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Starts Hangdog, as hangdog_start() does, and watches the main thread. The main thread calls this function
 * before the program's slow work. The program does not mark the main thread's loop.
 *
 * Hangdog defers a report until it is certain which wait is the loop's: usually at the loop's second wait. If
 * the program dies before that, there is no report.
 *
 * @param options As in hangdog_start(); NULL: all defaults.
 * @retval 0 Hangdog runs.
 * @retval -EPERM Another thread than the main one called this function.
 * @return Else the value of hangdog_start().
 */
HANGDOG_API int hangdog_waits_start(const hangdog_options *options);

/**
 * Stops Hangdog, in place of hangdog_stop(), and writes the session report. The main thread calls this
 * function. It takes up to 5 s if a disk blocks Hangdog's worker. The end of the program has the same effect.
 */
HANGDOG_API void hangdog_waits_stop(void);

#ifdef __cplusplus
}
#endif
#endif
