/* SPDX-License-Identifier: MIT
 *
 * printf and its kin. On arm64 the arguments are an array of words: each conversion of the format takes one.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "import.h"

static uint8_t out_file, error_file; /* FILE is opaque to programs */
static void *standard_out = &out_file, *standard_error = &error_file;

#if defined(__aarch64__)

static size_t convert(char *to, size_t room, const char *format, uint64_t word) {
    char kind = format[strlen(format) - 1];
    int n;
    if (strchr("fgeFGE", kind)) {
        double value;
        memcpy(&value, &word, 8);
        n = snprintf(to, room, format, value);
    } else if (kind == 's' || kind == 'p') {
        n = snprintf(to, room, format, (const char *)word);
    } else if (strchr(format, 'l') || strchr(format, 'z') || strchr(format, 'j')) {
        n = snprintf(to, room, format, word);
    } else {
        n = snprintf(to, room, format, (int)word);
    }
    return n < 0 ? 0 : (size_t)n;
}

static int print(char *to, size_t size, const char *format, const uint64_t *words) {
    size_t used = 0;
    for (const char *f = format; *f;) {
        char spec[32] = "%";
        size_t n = 1;
        char *at = to + (used < size ? used : size);
        size_t room = used < size ? size - used : 0;
        if (*f != '%' || f[1] == '%') {
            if (room > 1) {
                at[0] = *f;
                at[1] = 0;
            }
            used++;
            f += *f == '%' ? 2 : 1;
            continue;
        }
        for (f++; *f && n < 24; f++) {
            if (*f == '*') {
                n += (size_t)snprintf(spec + n, 8, "%d", (int)*words++);
                continue;
            }
            spec[n++] = *f;
            if (strchr("diouxXcsfgeFGEp", *f)) {
                f++;
                break;
            }
        }
        spec[n] = 0;
        used += convert(at, room, spec, *words++);
    }
    return (int)used;
}

#define ARGUMENTS const uint64_t *words
#define FORMAT(buffer, size) \
    if ((size) > 0) {        \
        (buffer)[0] = 0;     \
    }                        \
    int n = print(buffer, size, format, words)
#else
#define ARGUMENTS ...
#define FORMAT(buffer, size)                       \
    va_list list;                                  \
    va_start(list, format);                        \
    int n = vsnprintf(buffer, size, format, list); \
    va_end(list)
#endif

static int put(int fd, const char *text, int n) {
    size_t bytes = n < 0 ? 0 : n < 4096 ? (size_t)n : 4095;
    return write(fd, text, bytes) == (ssize_t)bytes ? n : -1;
}

static int fd_of(const void *file) {
    return file == &error_file ? 2 : 1;
}

int fake_printf(const char *format, ARGUMENTS);
int fake_printf(const char *format, ARGUMENTS) {
    char text[4096];
    FORMAT(text, sizeof text);
    return put(1, text, n);
}

int fake_fprintf(const void *file, const char *format, ARGUMENTS);
int fake_fprintf(const void *file, const char *format, ARGUMENTS) {
    char text[4096];
    FORMAT(text, sizeof text);
    return put(fd_of(file), text, n);
}

int fake_dprintf(int fd, const char *format, ARGUMENTS);
int fake_dprintf(int fd, const char *format, ARGUMENTS) {
    char text[4096];
    FORMAT(text, sizeof text);
    return put(fd, text, n);
}

int fake_snprintf(char *to, size_t size, const char *format, ARGUMENTS);
int fake_snprintf(char *to, size_t size, const char *format, ARGUMENTS) {
    FORMAT(to, size);
    return n;
}

static int fake_puts(const char *text) {
    char line[4096];
    int n = snprintf(line, sizeof line, "%s\n", text);
    return put(1, line, n);
}

static int fake_fputs(const char *text, const void *file) {
    return put(fd_of(file), text, (int)strlen(text));
}

static int fake_putchar(int c) {
    char text[1] = {(char)c};
    return put(1, text, 1);
}

static int fake_fflush(void) {
    return 0;
}

#if defined(__aarch64__)
extern void variadic_printf(void), variadic_fprintf(void), variadic_dprintf(void), variadic_snprintf(void);
#endif

const struct import imports_of_print[] = {
    LIBRARY("printf", VARIADIC(printf)),
    LIBRARY("fprintf", VARIADIC(fprintf)),
    LIBRARY("dprintf", VARIADIC(dprintf)),
    LIBRARY("snprintf", VARIADIC(snprintf)),
    LIBRARY("puts", fake_puts),
    LIBRARY("fputs", fake_fputs),
    LIBRARY("putchar", fake_putchar),
    LIBRARY("fflush", fake_fflush),
    DATA("__stdoutp", &standard_out),
    DATA("__stderrp", &standard_error),
    IMPORT_END,
};
