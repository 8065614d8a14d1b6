/* SPDX-License-Identifier: MIT
 * The C library's memory functions, visible in the preload only. The program may replace libc's: a thread
 * sanitizer reports races, since it does not know our atomics; a memory checker allocates. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"

#if !HD_SANITIZED /* a sanitized preload is itself under test */

/* Keeps the compiler from replacing the loop by a call of the same function. */
#define NO_IDIOM(pointer) __asm__("" : "+r"(pointer))

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
void *memchr(const void *in, int value, size_t n);
int memcmp(const void *one, const void *other, size_t n);
int bcmp(const void *one, const void *other, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, size_t n);
void *__memcpy_chk(void *restrict to, const void *restrict from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int value, size_t n, size_t room);

#if defined(__x86_64__)
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    void *d = to;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memset(void *to, int value, size_t n) {
    void *d = to;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(value) : "memory");
    return to;
}
#else
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *d = to;
    const uint8_t *s = from;
    for (; n > 0; n--) {
        NO_IDIOM(d);
        *d++ = *s++;
    }
    return to;
}

void *memset(void *to, int value, size_t n) {
    uint8_t *d = to;
    for (; n > 0; n--) {
        NO_IDIOM(d);
        *d++ = (uint8_t)value;
    }
    return to;
}
#endif

void *memmove(void *to, const void *from, size_t n) {
    uint8_t *d = to;
    const uint8_t *s = from;
    if ((uintptr_t)d - (uintptr_t)s >= n) { /* no overlap, or `to` lies before `from` */
        return memcpy(to, from, n);
    }
    while (n > 0) {
        NO_IDIOM(d);
        n--;
        d[n] = s[n];
    }
    return to;
}

void *memchr(const void *in, int value, size_t n) {
    for (const uint8_t *p = in; n > 0; p++, n--) {
        NO_IDIOM(p);
        if (*p == (uint8_t)value) {
            return (void *)(uintptr_t)p;
        }
    }
    return NULL;
}

int memcmp(const void *one, const void *other, size_t n) {
    const uint8_t *a = one, *b = other;
    for (; n > 0; a++, b++, n--) {
        NO_IDIOM(a);
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}

int bcmp(const void *one, const void *other, size_t n) {
    return memcmp(one, other, n);
}

size_t strnlen(const char *s, size_t n) {
    size_t at = 0;
    for (; at < n && s[at] != '\0'; at++) {
        NO_IDIOM(s);
    }
    return at;
}

size_t strlen(const char *s) {
    return strnlen(s, SIZE_MAX);
}

int strncmp(const char *one, const char *other, size_t n) {
    for (; n > 0; one++, other++, n--) {
        NO_IDIOM(one);
        if (*one != *other || *one == '\0') {
            return (uint8_t)*one - (uint8_t)*other;
        }
    }
    return 0;
}

int strcmp(const char *one, const char *other) {
    return strncmp(one, other, PTRDIFF_MAX);
}

/* Called by code built with _FORTIFY_SOURCE. An overflow ends the process, as in libc. */
void *__memcpy_chk(void *restrict to, const void *restrict from, size_t n, size_t room) {
    if (n > room) {
        __builtin_trap();
    }
    return memcpy(to, from, n);
}

void *__memmove_chk(void *to, const void *from, size_t n, size_t room) {
    if (n > room) {
        __builtin_trap();
    }
    return memmove(to, from, n);
}

void *__memset_chk(void *to, int value, size_t n, size_t room) {
    if (n > room) {
        __builtin_trap();
    }
    return memset(to, value, n);
}

#endif
