/* SPDX-License-Identifier: MIT */
#include "cli/base/deep_stack.h"

#include <stdlib.h>

/* Whatever limit there is: it was set for the program. Debug information asks for a deep one. */
#define DEEP_STACK_BYTES (8u * 1024 * 1024)

/* The thread sanitizer ends a forked process if a new thread has the id of a thread in the parent. */
#ifdef __SANITIZE_THREAD__
#define MAY_START false
#else
#define MAY_START true
#endif

struct work {
    void (*call)(void *);
    void *argument;
};

static void *do_it(void *work) {
    struct work w = *(struct work *)work;
    free(work);
    w.call(w.argument);
    return NULL;
}

bool deep_stack_start(pthread_t *thread, size_t stack_bytes, void (*call)(void *), void *argument) {
    pthread_attr_t attributes;
    struct work *w = malloc(sizeof *w); /* the thread's: it may outlive the caller */
    if (w == NULL || pthread_attr_init(&attributes) != 0) {
        free(w);
        return false;
    }
    *w = (struct work){call, argument};
    bool started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                   pthread_create(thread, &attributes, do_it, w) == 0;
    pthread_attr_destroy(&attributes);
    if (!started) {
        free(w);
    }
    return started;
}

void on_a_deep_stack(void (*call)(void *), void *argument) {
    pthread_t thread;
    if (MAY_START && deep_stack_start(&thread, DEEP_STACK_BYTES, call, argument)) {
        pthread_join(thread, NULL);
    } else {
        call(argument); /* the present stack may suffice */
    }
}
