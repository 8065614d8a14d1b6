/* SPDX-License-Identifier: MIT
 *
 * Errors for a person: one line each. Ordinary code.
 */
#include "cli/commands.h"

#include <stdarg.h>
#include <stdio.h>

/* Names in errors come from anywhere: no control character reaches the terminal, and the line stays one. */
static void print_line(const char *text) {
    fputs("hangdog: ", stderr);
    for (; *text != 0; text++)
        fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
}

void problem_set(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
}

int complain(const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line(text);
    fputc('\n', stderr);
    return EXIT_ERROR;
}

int complain_usage(const char *command, const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line(text);
    fprintf(stderr, "; see: hangdog%s%s --help\n", command != NULL ? " " : "",
            command != NULL ? command : "");
    return EXIT_USAGE;
}
