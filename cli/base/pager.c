/* SPDX-License-Identifier: MIT */
#include "cli/base/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127

static bool is_longer_than_terminal(const char *text, size_t bytes) {
    struct winsize size = {0};
    const char *terminal = getenv("TERM");
    size_t lines = 1;
    if (terminal == NULL || strcmp(terminal, "dumb") == 0 || isatty(STDOUT_FILENO) == 0 ||
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n'; /* the shell's prompt has a line too */
    }
    return lines > size.ws_row;
}

static int print_directly(const char *text, size_t bytes) {
    return fwrite(text, 1, bytes, stdout) == bytes && fflush(stdout) == 0 ? 0 : -1;
}

/* False: there is no such pager. A user who leaves it has read enough. */
static bool print_through(const char *pager, const char *text, size_t bytes) {
    setenv("LESS", "FRX", 0); /* git's: colours pass, and the text stays on the screen */
    setenv("LV", "-c", 0);
    FILE *out = popen(pager, "w"); // NOLINT(cert-env33-c): the user's own command, as git runs it
    if (out == NULL) {
        return false;
    }
    (void)!fwrite(text, 1, bytes, out);
    int status = pclose(out);
    return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

int pager_print(const char *text, size_t bytes) {
    const char *pager = getenv("PAGER");
    pager = pager == NULL ? "less" : pager;
    if (pager[0] == 0 || strcmp(pager, "cat") == 0 || !is_longer_than_terminal(text, bytes)) {
        return print_directly(text, bytes);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* it is the pager's */
    bool printed = print_through(pager, text, bytes);
    signal(SIGINT, SIG_DFL);
    return printed ? 0 : print_directly(text, bytes);
}
