/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust functions as they were written. Ordinary code.
 */
#include "symbolizer/symbolizer.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 4096   /* a longer one is not demangled: the demangler recurses */
#define RESULT_MAX_BYTES 8192 /* back-references can make megabytes of a short name */

/* The demangler of the C++ runtime; its header is C++ only. */
char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

/* Rust's older mangling is C++'s with a hash as the last part: "core::fmt::write::h0123456789abcdef". */
static void cut_rust_hash(char *name) {
    size_t n = strlen(name);
    if (n <= 19 || strncmp(name + n - 19, "::h", 3) != 0)
        return;
    if (strspn(name + n - 16, "0123456789abcdef") == 16)
        name[n - 19] = 0;
}

char *symbolizer_demangle(const char *name) {
    int status = 0;
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > NAME_MAX_BYTES)
        return strdup(name);
    char *plain = __cxa_demangle(name, NULL, NULL, &status);
    if (plain == NULL || status != 0 || strlen(plain) > RESULT_MAX_BYTES) {
        free(plain);
        return strdup(name);
    }
    cut_rust_hash(plain);
    return plain;
}
