/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"
#include "import.h"
#include "thread.h"

#if defined(__x86_64__)
#define SHOWN 12      /* behind the stub's jump */
#define ENTRY_BYTES 2 /* of the instruction that enters the kernel */
#else
#define SHOWN 16
#define ENTRY_BYTES 4
#endif

static uint64_t stubs[1024]; /* the address of each import's stub */

/* ---- what a test sets --------------------------------------------------------------------- */

static _Atomic int fault_import = -1, fault_countdown, faults_done;
static uint64_t fault_result;

static _Atomic int violations;
static char violation_names[256];

static uint64_t result_of_fault(void) {
    return thread_self->fault;
}

static bool fails(uint32_t import) {
    if (fault_import != (int)import || atomic_fetch_sub(&fault_countdown, 1) != 1) {
        return false;
    }
    fault_import = -1;
    faults_done++;
    thread_self->fault = fault_result;
    return true;
}

static void check(const struct import *i) {
    if (thread_self->suspends == 0 || i->kind == IMPORT_SUSPENDED || i->kind == IMPORT_PURE) {
        return;
    }
    violations++;
    size_t used = strlen(violation_names);
    if (!strstr(violation_names, i->name) && used + strlen(i->name) + 2 < sizeof violation_names) {
        strcat(violation_names, " ");
        strcat(violation_names, i->name);
    }
}

/* ---- the way in and out ------------------------------------------------------------------- */

static uint64_t shown_pc(const struct import *i, uint64_t stub) {
    return stub + SHOWN + (import_is_kernel(i) ? ENTRY_BYTES : 0);
}

static uint64_t stub_of(uint32_t import) {
    if (!stubs[import]) {
        stubs[import] = images_symbol(import_at(import)->name);
    }
    return stubs[import];
}

void *gate_enter(struct gate_registers *caller, uint32_t import) {
    struct thread *t = thread_self;
    const struct import *i = import_at(import);
    if (!t) {
        errx(2, "a thread that the fake kernel does not know calls %s", i->name);
    }
    caller->pc = shown_pc(i, stub_of(import));
#if defined(__aarch64__)
    if (i->number) {
        caller->general[16] = (uint64_t)(int64_t)i->number;
    }
#endif
    check(i);
    int depth = t->depth;
    if (depth < THREAD_DEPTH) {
        t->frames[depth] = caller;
        t->imports[depth] = import;
    }
    t->depth = depth + 1;
    return fails(import) ? (void *)result_of_fault : i->at;
}

void gate_leave(void) {
    if (thread_self) {
        thread_self->depth--;
    }
}

void gate_show(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct thread *t = thread_self;
    uint64_t stub = images_symbol(name);
    const struct import *i = import_find(name);
    if (!t || t->depth == 0 || t->depth > THREAD_DEPTH || !stub || !i) {
        return;
    }
    struct gate_registers *g = t->frames[t->depth - 1];
#if defined(__x86_64__)
    g->general[4] = a;
    g->general[5] = b;
    g->general[3] = c;
    g->general[2] = d;
#else
    g->general[0] = a;
    g->general[1] = b;
    g->general[2] = c;
    g->general[3] = d;
    g->general[16] = (uint64_t)(int64_t)i->number;
#endif
    g->pc = shown_pc(i, stub);
}

/* ---- for tests ---------------------------------------------------------------------------- */

/* The nth call of `name` from now on returns `result`. 0: no import has this name. */
static int fake_fail(const char *name, int nth, uint64_t result) {
    for (uint32_t i = 0; i < import_count(); i++) {
        if (!strcmp(import_at(i)->name, name)) {
            fault_result = result;
            fault_countdown = nth;
            fault_import = (int)i;
            return 1;
        }
    }
    return 0;
}

/* How many calls were made to fail. */
static int fake_failed(void) {
    fault_import = -1;
    return faults_done;
}

/* How many calls broke the rule between suspend and resume, and which. */
static int fake_violations(const char **names) {
    *names = violation_names;
    return violations;
}

const struct import imports_of_testing[] = {
    LIBRARY("fake_fail", fake_fail),
    LIBRARY("fake_failed", fake_failed),
    LIBRARY("fake_violations", fake_violations),
    IMPORT_END,
};
