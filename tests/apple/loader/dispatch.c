/* SPDX-License-Identifier: MIT
 *
 * libdispatch, as far as a source of memory pressure needs it: a test says how high the pressure is.
 */
#include <stddef.h>

#include "import.h"

static const int type_of_pressure;
static struct {
    void *context;
    void (*handler)(void *context);
    unsigned long data;
    bool resumed;
} source;

static void *fake_get_global_queue(intptr_t identifier, uintptr_t flags) {
    (void)identifier;
    return flags == 0 ? &source : NULL;
}

static void *fake_source_create(const void *type, uintptr_t handle, unsigned long mask, void *queue) {
    return type == &type_of_pressure && handle == 0 && mask == 7 && queue == &source ? &source : NULL;
}

static void fake_set_context(void *object, void *context) {
    (void)object;
    source.context = context;
}

static void fake_set_event_handler_f(void *object, void (*handler)(void *context)) {
    (void)object;
    source.handler = handler;
}

static unsigned long fake_get_data(void *object) {
    (void)object;
    return source.data;
}

static void fake_resume(void *object) {
    (void)object;
    source.resumed = true;
}

/* The pressure is 1 (normal), 2 (warning) or 4 (critical) from now on. */
static void fake_memory_pressure(unsigned long pressure) {
    source.data = pressure;
    if (source.resumed && source.handler) {
        source.handler(source.context);
    }
}

const struct import imports_of_dispatch[] = {
    LIBRARY("dispatch_get_global_queue", fake_get_global_queue),
    LIBRARY("dispatch_source_create", fake_source_create),
    LIBRARY("dispatch_set_context", fake_set_context),
    LIBRARY("dispatch_source_set_event_handler_f", fake_set_event_handler_f),
    LIBRARY("dispatch_source_get_data", fake_get_data),
    LIBRARY("dispatch_resume", fake_resume),
    DATA("_dispatch_source_type_memorypressure", &type_of_pressure),
    LIBRARY("fake_memory_pressure", fake_memory_pressure),
    IMPORT_END};
