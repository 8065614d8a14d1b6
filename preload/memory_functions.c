/* SPDX-License-Identifier: MIT
 *
 * The C library's functions on memory, for the preload alone. The program may have its own in front of
 * libc's: a thread sanitizer's, which looks for races and knows nothing of our atomics; a checker that
 * allocates. Pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"

#if !HD_SANITIZED /* ours is to be looked at */

/* Or compilers make a call of the very function out of its loop. */
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
    if ((uintptr_t)d - (uintptr_t)s >= n) { /* also where it lies before */
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

/* _FORTIFY_SOURCE's: an overflow ends the process, as libc's would. */
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
