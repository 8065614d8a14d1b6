/* SPDX-License-Identifier: MIT */
#include "cli/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"

void problem_set(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
}

/* Names in it come from anywhere, and it stays one line. */
static void say_line(char *text) {
    char line[sizeof "hangdog: \n" + sizeof((struct problem *)0)->text];
    plain_text(text);
    say_whole(line, (size_t)snprintf(line, sizeof line, "hangdog: %s\n", text));
}

int complain(const char *format, ...) {
    char text[sizeof((struct problem *)0)->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say_line(text);
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
    say_line(text);
    return EXIT_USAGE;
}

int written(const char *what) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return complain("writing %s: %s", what, errno != 0 ? strerror(errno) : "it was cut off");
}
