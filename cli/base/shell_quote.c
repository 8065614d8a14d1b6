/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: quoting for a shell.
 */
#include "cli/base/shell_quote.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/sanitize.h"

/* As bash, ksh and zsh have it: what is no character of a terminal's cannot be copied from it. */
static void quote_bytes(char *to, size_t size, const char *path) {
    size_t n = (size_t)snprintf(to, size, "$'");
    for (; *path != '\0' && n + sizeof "\\377'" <= size; path++) {
        unsigned char c = (unsigned char)*path;
        bool odd = c < 0x20 || c >= 0x7f, escaped = c == '\'' || c == '\\';
        n += (size_t)(odd ? snprintf(to + n, size - n, "\\%03o", c)
                          : snprintf(to + n, size - n, "%s%c", escaped ? "\\" : "", c));
    }
    snprintf(to + n, size - n, "'");
}

void quote_word(char *to, size_t size, const char *path) {
    if (!sanitize_is_plain(path)) {
        quote_bytes(to, size, path);
        return;
    }
    bool plain = strpbrk(path, " \t\n'\"\\$`&|;<>()*?[]{}~#!") == NULL;
    size_t n = (size_t)snprintf(to, size, "%s", plain ? path : "'");
    if (plain) {
        return;
    }
    for (; *path != '\0' && n + sizeof "'\\'''" <= size; path++) {
        n += (size_t)(*path == '\'' ? snprintf(to + n, size - n, "'\\''")
                                    : snprintf(to + n, size - n, "%c", *path));
    }
    snprintf(to + n, size - n, "'");
}

void quote_spool(char *to, size_t size, const char *path) {
    int n = snprintf(to, size, " --spool ");
    quote_word(to + n, size - (size_t)n, path);
}

const char *shell_own_command(void) {
    static char word[4 * PATH_MAX];
    if (strchr(program_invocation_name, '/') == NULL) {
        return "hangdog";
    }
    if (word[0] == '\0') { /* once: two threads may ask, when one has */
        quote_word(word, sizeof word, program_invocation_name);
    }
    return word;
}
