/* SPDX-License-Identifier: MIT
 *
 * String and number functions: those of the host, which mean the same.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import.h"

static void fake_bzero(void *p, size_t n) {
    memset(p, 0, n);
}

static size_t fake_strlcpy(char *to, const char *from, size_t n) {
    size_t length = strlen(from);
    if (n > 0) {
        size_t copied = length < n - 1 ? length : n - 1;
        memcpy(to, from, copied);
        to[copied] = 0;
    }
    return length;
}

static size_t fake_strlcat(char *to, const char *from, size_t n) {
    size_t used = strnlen(to, n);
    return used + fake_strlcpy(to + used, from, n - used);
}

static void *fake_memcpy_chk(void *to, const void *from, size_t n, size_t room) {
    return n <= room ? memcpy(to, from, n) : (abort(), to);
}
static void *fake_memset_chk(void *to, int value, size_t n, size_t room) {
    return n <= room ? memset(to, value, n) : (abort(), to);
}
static void fake_memset_pattern16(uint8_t *to, const uint8_t *pattern, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = pattern[i % 16];
    }
}

static uint64_t stack_guard = 0x1122334455667700;

const struct import imports_of_string[] = {
    PURE("memcpy", memcpy),
    PURE("memmove", memmove),
    PURE("memset", memset),
    PURE("memcmp", memcmp),
    PURE("bcmp", memcmp),
    PURE("bzero", fake_bzero),
    PURE("__bzero", fake_bzero),
    PURE("memchr", memchr),
    PURE("__memcpy_chk", fake_memcpy_chk),
    PURE("__memmove_chk", fake_memcpy_chk),
    PURE("__memset_chk", fake_memset_chk),
    PURE("memset_pattern16", fake_memset_pattern16),
    PURE("strlen", strlen),
    PURE("strnlen", strnlen),
    PURE("strcmp", strcmp),
    PURE("strncmp", strncmp),
    LIBRARY("strcasecmp", strcasecmp),
    LIBRARY("strchr", strchr),
    LIBRARY("strrchr", strrchr),
    LIBRARY("strstr", strstr),
    LIBRARY("strspn", strspn),
    LIBRARY("strcspn", strcspn),
    LIBRARY("strcpy", strcpy),
    LIBRARY("strncpy", strncpy),
    LIBRARY("strlcpy", fake_strlcpy),
    LIBRARY("strlcat", fake_strlcat),
    LIBRARY("strtol", strtol),
    LIBRARY("strtoul", strtoul),
    LIBRARY("strtoull", strtoull),
    LIBRARY("atoi", atoi),
    LIBRARY("qsort", qsort),
    LIBRARY("__stack_chk_fail", abort),
    DATA("__stack_chk_guard", &stack_guard),
    IMPORT_END,
};
