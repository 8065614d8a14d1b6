/* SPDX-License-Identifier: MIT
 *
 * The functions and variables of the fake libSystem. Each file has a table of what it fakes.
 */
#ifndef APPLE_LOADER_IMPORT_H
#define APPLE_LOADER_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum import_kind {
    IMPORT_LIBRARY,   /* a function of libSystem.B.dylib */
    IMPORT_KERNEL,    /* a stub of libsystem_kernel.dylib */
    IMPORT_SUSPENDED, /* the same, and allowed while the caller has a thread suspended */
    IMPORT_PURE,      /* a function of libSystem.B.dylib that is allowed then */
    IMPORT_DATA,      /* a variable */
    IMPORT_CODE,      /* a function of the loader, called without the gate */
};

struct import {
    const char *name; /* with the underscore */
    void *at;
    enum import_kind kind;
    int number; /* of the system call: negative for Mach traps; 0: none */
};

#define LIBRARY(name, function) \
    { "_" name, (void *)(function), IMPORT_LIBRARY, 0 }
#define PURE(name, function) \
    { "_" name, (void *)(function), IMPORT_PURE, 0 }
#define KERNEL(name, function, number) \
    { "_" name, (void *)(function), IMPORT_KERNEL, number }
#define DATA(name, variable) \
    { "_" name, (void *)(variable), IMPORT_DATA, 0 }
#define IMPORT_END \
    { NULL, NULL, IMPORT_LIBRARY, 0 }

/* Variadic arguments: on arm64 Apple's are on the stack. */
#if defined(__aarch64__)
#define VARIADIC(function) variadic_##function
#else
#define VARIADIC(function) fake_##function
#endif

uint32_t import_count(void);
const struct import *import_at(uint32_t index);
/* NULL: none has this name, which has the underscore. */
const struct import *import_find(const char *name);

/* Whether the stub is one of libsystem_kernel. */
bool import_is_kernel(const struct import *i);

/* Writes the assembly of a system library's stubs; `kernel` of libsystem_kernel, else of libSystem. */
void import_write_stubs(FILE *out, bool kernel);

#endif
