/* SPDX-License-Identifier: MIT
 *
 * Where the main thread of a program without a loop spent its time, for a person.
 */
#ifndef CLI_MAIN_THREAD_TEXT_H
#define CLI_MAIN_THREAD_TEXT_H

#include <stddef.h>

#include "cli/reporter/main_thread.h"

/* "the main thread spent 15.8 s waiting for child 9996 (python3) in wait4 and never called poll, select or
 * epoll_wait". `waits`, `waited_ns`: its waits in these calls. */
void main_thread_text(char *to, size_t size, const struct main_thread *t, unsigned long long waits,
                      uint64_t waited_ns);

/* "spent 15.8 s waiting for child 9996 (python3) in wait4"; empty: not seen. */
void main_thread_spent_text(char *to, size_t size, const struct main_thread *t);

#endif
