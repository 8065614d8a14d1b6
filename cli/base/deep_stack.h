/* SPDX-License-Identifier: MIT
 *
 * Threads with a stack of a given size.
 */
#ifndef CLI_DEEP_STACK_H
#define CLI_DEEP_STACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Calls it on a new thread. False: there is no thread. */
bool deep_stack_start(pthread_t *thread, size_t stack_bytes, void (*call)(void *), void *argument);

/* Calls it on a thread that has room for what debug information asks of a stack, and waits for its end. */
void on_a_deep_stack(void (*call)(void *), void *argument);

#endif
