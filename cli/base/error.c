/* SPDX-License-Identifier: MIT */
#include "cli/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/terminal.h"

void error_set(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->text, sizeof p->text, format, args);
    va_end(args);
    p->command[0] = '\0';
}

void error_try(struct problem *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->command, sizeof p->command, format, args);
    va_end(args);
}

/* True: the text is longer than the terminal's lines, and is printed in several. */
static bool print_wrapped(const struct problem *p) {
    char line[PROBLEM_BYTES + sizeof "  try: \n"];
    if (sizeof "hangdog: " - 1 + strlen(p->text) <= (size_t)terminal_columns(STDERR_FILENO)) {
        return false;
    }
    message_print(MESSAGE_PLAIN, &(struct message_part){p->text, NULL}, 1);
    int n = snprintf(line, sizeof line, "  try: %s\n", p->command);
    if (p->command[0] != '\0') {
        output_write(line, (size_t)n);
    }
    return true;
}

int error_print(const struct problem *p) {
    static const char own_line[] = "\n  try: ", same_line[] = "; try: ";
    char line[sizeof "hangdog: " + sizeof own_line + 2 * PROBLEM_BYTES];
    struct problem plain = *p;
    /* Names in it come from anywhere, and each part stays one line. */
    sanitize_text(plain.text);
    sanitize_text(plain.command);
    if (isatty(STDERR_FILENO) != 0 && print_wrapped(&plain)) {
        return EXIT_ERROR;
    }
    size_t length = strlen(plain.text);
    bool stops = length > 0 && plain.text[length - 1] == '?';
    const char *between = plain.command[0] == '\0' ? ""
                          : isatty(STDERR_FILENO)  ? own_line
                                                   : same_line + stops;
    int n = snprintf(line, sizeof line, "hangdog: %s%s%s\n", plain.text, between, plain.command);
    output_write(line, (size_t)n);
    return EXIT_ERROR;
}

int print_error(const char *format, ...) {
    struct problem p = {.command = ""};
    va_list args;
    va_start(args, format);
    vsnprintf(p.text, sizeof p.text, format, args);
    va_end(args);
    return error_print(&p);
}

int print_error_try(const char *command, const char *format, ...) {
    struct problem p;
    va_list args;
    va_start(args, format);
    vsnprintf(p.text, sizeof p.text, format, args);
    va_end(args);
    snprintf(p.command, sizeof p.command, "%s", command != NULL ? command : "");
    return error_print(&p);
}

int error_check_stdout(const char *what) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return 0;
    }
    if (errno == EPIPE) {
        return 0;
    }
    return print_error("cannot write %s: %s", what, errno != 0 ? strerror(errno) : "the output was cut off");
}
