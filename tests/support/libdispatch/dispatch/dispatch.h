/* SPDX-License-Identifier: MIT
 *
 * A stand-in for libdispatch's header: its main queue, which the main run loop of
 * tests/support/cf_run_loop.c serves.
 */
#ifndef TEST_DISPATCH_H
#define TEST_DISPATCH_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cf_main_queue *dispatch_queue_t;
typedef void (*dispatch_function_t)(void *context);

dispatch_queue_t dispatch_get_main_queue(void);
void dispatch_main(void) __attribute__((noreturn));
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);

#ifdef __cplusplus
}
#endif
#endif
