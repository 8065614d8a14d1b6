/* SPDX-License-Identifier: MIT */
// Calls by name, by pointer, of itself, of library functions, and from them, for single steps without unwind
// tables.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long (*function)(long, long);
static volatile long sink;
static jmp_buf back;

__attribute__((noinline)) static long leaf(long a, long b) {
    return a * 31 ^ b;
}

__attribute__((noinline)) static long deep(long n, long x) {
    return n == 0 ? leaf(x, n) : deep(n - 1, x ^ n) + 1;
}

__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, long h) {
    return leaf(a + b, c + d) ^ leaf(e + f, g + h);
}

__attribute__((noinline)) static long array(long n, long x) {
    char text[n + 16];
    memset(text, (int)x, sizeof text);
    return leaf(text[n], n);
}

__attribute__((noinline)) static long with_list(int n, ...) {
    long sum = 0;
    va_list list;
    va_start(list, n);
    while (n-- > 0) {
        sum += va_arg(list, long);
    }
    va_end(list);
    return leaf(sum, n);
}

static int compare(const void *a, const void *b) {
    return (int)leaf(*(const int *)a, 1) - (int)leaf(*(const int *)b, 1);
}

__attribute__((noinline)) static long jumps(long a, long b) {
    if (setjmp(back) == 0) {
        sink += deep(3, a);
        longjmp(back, 1);
    }
    return leaf(a, b);
}

int main(void) {
    static const function all[] = {leaf, deep, array, jumps};
    char text[64];
    for (long i = 0; i < 400; i++) {
        int numbers[6] = {(int)i, 4, 7, (int)(i ^ 3), 2, 9};
        qsort(numbers, 6, sizeof numbers[0], compare);
        snprintf(text, sizeof text, "%ld %s %g", i, "text", (double)i);
        sink += all[i % 4](i % 7, i) + many(i, 1, 2, 3, 4, 5, 6, 7) + with_list(3, i, 2L, 3L) + numbers[0] +
                (long)strlen(text);
    }
    return 0;
}
