/* SPDX-License-Identifier: MIT
 *
 * An uncaught exception: `cxx` or `objc`. The program has stand-ins for the runtimes of C++ and Objective-C,
 * which the loader lacks. The library finds them by the runtimes' names, as on a Mac.
 */
#include <stdlib.h>

#include "watched.h"

#define EXPORTED __attribute__((visibility("default"), used))

typedef void (*terminate_handler)(void);
typedef void (*objc_handler)(void *exception);

EXPORTED terminate_handler set_terminate(terminate_handler next) __asm__("__ZSt13set_terminatePFvvE");
EXPORTED const char *logic_error_what(void *object) __asm__("__ZNKSt11logic_error4whatEv");
EXPORTED const void *__cxa_current_exception_type(void);
EXPORTED void *__cxa_current_primary_exception(void);
EXPORTED void NSSetUncaughtExceptionHandler(objc_handler next);
EXPORTED objc_handler NSGetUncaughtExceptionHandler(void);
EXPORTED const void *sel_registerName(const char *name);
EXPORTED const void *objc_msgSend(const void *object, const void *selector);

/* ---- C++ --------------------------------------------------------------------------------------- */

static terminate_handler terminate_now = abort;

terminate_handler set_terminate(terminate_handler next) {
    terminate_handler before = terminate_now;
    terminate_now = next;
    return before;
}

const char *logic_error_what(void *object) {
    return ((const char **)object)[1];
}

static const struct {
    const void *functions;
    const char *name;
} out_of_range = {NULL, "St12out_of_range"};
static const void *const functions[3] = {NULL, NULL, (const void *)logic_error_what};
static struct {
    const void *functions;
    const char *text;
} thrown = {functions, "no element 7"};

const void *__cxa_current_exception_type(void) {
    return &out_of_range;
}

void *__cxa_current_primary_exception(void) {
    return &thrown;
}

__attribute__((noinline)) static void throw_cxx(unsigned unused) {
    (void)unused;
    terminate_now();
}

/* ---- Objective-C ------------------------------------------------------------------------------- */

static objc_handler objc_now;
static const char *const selectors[] = {"name", "reason", "UTF8String"};

void NSSetUncaughtExceptionHandler(objc_handler next) {
    objc_now = next;
}

objc_handler NSGetUncaughtExceptionHandler(void) {
    return objc_now;
}

const void *sel_registerName(const char *name) {
    for (unsigned i = 0; i < 3; i++) {
        if (!strcmp(selectors[i], name)) {
            return selectors[i];
        }
    }
    return NULL;
}

/* An exception is two texts, and a string is its text. */
const void *objc_msgSend(const void *object, const void *selector) {
    const char *const *texts = object;
    return selector == selectors[2] ? object : texts[selector == selectors[1]];
}

__attribute__((noinline)) static void throw_objc(unsigned unused) {
    static const char *exception[2] = {"NSRangeException", "index 5 beyond bounds [0 .. 2]"};
    (void)unused;
    objc_now(exception);
    abort();
}

int main(int argc, char **argv) {
    hangdog_options o = {.crash = 1};
    (void)argc;
    watched_start("exception", argv[1], &o);
    watched_turn(!strcmp(argv[2], "cxx") ? throw_cxx : throw_objc, 0);
    return 0;
}
