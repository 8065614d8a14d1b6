/* SPDX-License-Identifier: MIT
 *
 * Names of functions for a column. Ordinary code.
 */
#include "cli/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int width_of(const char *text) {
    int width = 0;
    for (; *text != 0; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* "operator()", "operator<<": these are names. */
static bool is_operator(const char *name, const char *at) {
    static const char word[] = "operator";
    const size_t n = sizeof word - 1;
    while (at > name && (at[-1] == '<' || at[-1] == '-')) /* operator<<, operator-> */
        at--;
    return (size_t)(at - name) >= n && memcmp(at - n, word, n) == 0;
}

/* Replaces what is between `open` and `close` by dots, if that is shorter. */
static void leave_out(char *open, const char *close) {
    if (close - open > 4) {
        memset(open + 1, '.', 3);
        memmove(open + 4, close, strlen(close) + 1);
    }
}

/* The last parentheses: those of the parameters, unless they are the name itself. */
static void leave_out_parameters(char *name) {
    char *close = strrchr(name, ')'), *open = close;
    int depth = 1;
    while (close != NULL && open > name && depth > 0) {
        open--;
        depth += (*open == ')') - (*open == '(');
    }
    if (close != NULL && depth == 0 && open > name && open[-1] != ':' && !is_operator(name, open))
        leave_out(open, close);
}

/* Whether arguments of a template begin here: after a name, or after "operator<< ". */
static bool is_after_name(const char *name, const char *open) {
    if (open == name)
        return false;
    if (open[-1] == ' ')
        return is_operator(name, open - 1);
    return (isalnum((unsigned char)open[-1]) || open[-1] == '_') && !is_operator(name, open);
}

/* The bracket that closes this one, NULL when there is none. */
static const char *closing(const char *open) {
    const char *close = open;
    for (int depth = 1; depth > 0; depth += (*close == '<') - (*close == '>' && close[-1] != '-'))
        if (*++close == 0)
            return NULL;
    return close;
}

/* Outermost angle brackets, up to one that is not closed. Those that begin a name ("<T as Trait>::f") say
 * what it is of. Each character is looked at twice at most: a report may come from anybody. */
static void leave_out_templates(char *name) {
    char *to = name;
    for (const char *from = name; *from != 0;) {
        if (*from == '<' && is_after_name(name, to)) {
            const char *close = closing(from);
            if (close == NULL) {
                memmove(to, from, strlen(from) + 1);
                return;
            }
            if (close - from > 4) {
                memcpy(to, "<...", 4);
                to += 4;
                from = close;
            }
        }
        *to++ = *from++;
    }
    *to = 0;
}

/* Leading namespaces, and the type that a template's function returns; not what is inside of angle brackets.
 */
static void leave_out_namespaces(char *name, int width) {
    int depth = 0, left = width_of(name);
    for (char *at = name; *at != 0 && name[0] != '<'; at++) {
        depth += (*at == '<') - (*at == '>');
        if (depth == 0 && at > name + 3 && strncmp(at, "::", 2) == 0 && left + 3 <= width) {
            memmove(name + 3, at, strlen(at) + 1);
            memset(name, '.', 3);
            return;
        }
        left -= ((unsigned char)*at & 0xc0) != 0x80;
    }
}

char *short_name(const char *name, int width) {
    char *text = strdup(name);
    if (text != NULL && width_of(text) > width)
        leave_out_parameters(text);
    if (text != NULL && width_of(text) > width)
        leave_out_templates(text);
    if (text != NULL && width_of(text) > width)
        leave_out_namespaces(text, width);
    return text;
}
