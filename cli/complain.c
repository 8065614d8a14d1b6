/* SPDX-License-Identifier: MIT
 *
 * Errors for a person: one line each. Ordinary code.
 */
#include "cli/commands.h"
#include "cli/plain_text.h"
#include "cli/quote.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    plain_text(text); /* names in errors come from anywhere, and the line stays one */
    fprintf(stderr, "hangdog: %s\n", text);
    return EXIT_ERROR;
}

int complain_usage(const char *command, const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "; see: %s%s%s --help", own_command(), command != NULL ? " " : "",
             command != NULL ? command : "");
    plain_text(text);
    fprintf(stderr, "hangdog: %s\n", text);
    return EXIT_USAGE;
}

int written(const char *what) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return complain("writing %s: %s", what, errno != 0 ? strerror(errno) : "it was cut off");
}
