/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: quoting for a shell.
 */
#include "cli/quote.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void quote_word(char *to, size_t size, const char *path) {
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

const char *own_command(void) {
    static char word[4 * PATH_MAX];
    if (strchr(program_invocation_name, '/') == NULL) {
        return "hangdog";
    }
    if (word[0] == '\0') { /* once: two threads may ask, when one has */
        quote_word(word, sizeof word, program_invocation_name);
    }
    return word;
}
