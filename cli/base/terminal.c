/* SPDX-License-Identifier: MIT */
#include "cli/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_USUAL 80
#define COLUMNS_MIN 20
#define COLUMNS_MAX 10000

static const char *color_option;

void terminal_choose_colour(const char *when) {
    color_option = when;
}

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

bool terminal_wants_colour(int fd) {
    const char *terminal = getenv("TERM");
    if (color_option != NULL && strcmp(color_option, "auto") != 0) {
        return strcmp(color_option, "always") == 0;
    }
    if (is_set("NO_COLOR")) {
        return false;
    }
    if (is_set("CLICOLOR_FORCE")) {
        return true;
    }
    return isatty(fd) != 0 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

int terminal_columns(int fd) {
    const char *given = getenv("COLUMNS");
    struct winsize size = {0};
    long columns = given != NULL ? strtol(given, NULL, 10) : 0;
    if (columns <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0) {
        columns = size.ws_col;
    }
    if (columns <= 0) {
        columns = COLUMNS_USUAL;
    }
    return columns < COLUMNS_MIN ? COLUMNS_MIN : columns > COLUMNS_MAX ? COLUMNS_MAX : (int)columns;
}

/* The first of these that is set decides, as the C library has it. */
static bool is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && is_set(names[i])) {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

const char *terminal_ellipsis(void) {
    return is_utf8() ? "\u2026" : "~";
}
