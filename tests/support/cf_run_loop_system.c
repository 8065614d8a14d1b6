/* SPDX-License-Identifier: MIT
 *
 * A stand-in for CFRunLoop: the few calls that differ between Linux and macOS, and the main dispatch queue.
 */
#include "cf_run_loop.h"

#include <time.h>
#include <unistd.h>

#ifdef __APPLE__

/* clang's constant strings have the address of this variable as their type. */
extern int __CFConstantStringClassReference[24];
int __CFConstantStringClassReference[24];
/* Of libdispatch, whose header declares another type. */
extern char _dispatch_main_q[64];
char _dispatch_main_q[64];
void dispatch_async_f(void *queue, void *context, void (*work)(void *));

void dispatch_async_f(void *queue, void *context, void (*work)(void *)) {
    CF_NEED(queue == _dispatch_main_q);
    cf_add_to_main_queue(work, context);
}

bool cf_is_main_thread(void) {
    return pthread_main_np() != 0;
}

void cf_init_wait(CFRunLoopRef loop) {
    pthread_cond_init(&loop->changed, NULL);
}

void cf_wait(CFRunLoopRef loop, CFAbsoluteTime until) {
    double seconds = until - CFAbsoluteTimeGetCurrent();
    if (seconds > 0) {
        struct timespec t = {.tv_sec = (time_t)seconds,
                             .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
        pthread_cond_timedwait_relative_np(&loop->changed, &loop->lock, &t);
    }
}

#else

#include <dispatch/dispatch.h>
#include <sys/syscall.h>

dispatch_queue_t dispatch_get_main_queue(void) {
    return &cf_main;
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work) {
    CF_NEED(queue == &cf_main);
    cf_add_to_main_queue(work, context);
}

bool cf_is_main_thread(void) {
    return syscall(SYS_gettid) == getpid();
}

void cf_init_wait(CFRunLoopRef loop) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void cf_wait(CFRunLoopRef loop, CFAbsoluteTime until) {
    struct timespec at = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - (double)(time_t)until) * 1e9)};
    pthread_cond_timedwait(&loop->changed, &loop->lock, &at);
}

#endif
