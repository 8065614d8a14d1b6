/* SPDX-License-Identifier: MIT
 *
 * Names of functions for a column. Ordinary code.
 */
#include "cli/render/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int name_width(const char *text) {
    int width = 0;
    for (; *text != 0; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The length of "operator<<" where it begins here, of those whose signs look like brackets; else 0. */
static size_t operator_at(const char *name, const char *at) {
    static const char word[] = "operator";
    static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                        "<=",  ">=",  "->",  "<",   ">",  "()"};
    const size_t n = sizeof word - 1;
    if (strncmp(at, word, n) != 0 || (at > name && is_of_word(at[-1]))) {
        return 0;
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strncmp(at + n, signs[i], strlen(signs[i])) == 0) {
            return n + strlen(signs[i]);
        }
    }
    return 0;
}

static bool is_call_operator(const char *name, const char *open) {
    static const char word[] = "operator";
    const size_t n = sizeof word - 1;
    return (size_t)(open - name) >= n && operator_at(name, open - n) == n + 2;
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
    if (close != NULL && depth == 0 && open > name && open[-1] != ':' && !is_call_operator(name, open)) {
        leave_out(open, close);
    }
}

/* The bracket that closes this one, NULL when there is none. */
static const char *end_bracket(const char *name, const char *open) {
    int depth = 1;
    for (const char *close = open + 1; *close != 0; close++) {
        size_t n = operator_at(name, close);
        if (n != 0) {
            close += n - 1;
            continue;
        }
        depth += (*close == '<') - (*close == '>' && close[-1] != '-');
        if (depth == 0) {
            return close;
        }
    }
    return NULL;
}

/* Rust's generics of a function, "sort::<u8>", not the type whose function it is: "num::<impl Display for
 * i32>". */
static bool is_before_generics(const char *name, const char *at) {
    return at > name && strncmp(at - 1, "::<", 3) == 0 && strncmp(at + 1, "<impl ", 6) != 0;
}

/* Outermost angle brackets, up to one that is not closed, after a name: "map<int>", "operator<< <char>".
 * Those that begin a name ("<T as Trait>::f") say what it is of. Each character is looked at twice at most: a
 * report may come from anybody. */
static void leave_out_templates(char *name) {
    char *to = name;
    bool after_name = false;
    for (const char *from = name; *from != 0;) {
        size_t n = operator_at(name, from);
        const char *close = *from == '<' && after_name && n == 0 ? end_bracket(name, from) : from;
        if (close == NULL) {
            memmove(to, from, strlen(from) + 1);
            return;
        }
        if (close - from > 4) {
            memcpy(to, "<...", 4);
            to += 4;
            from = close;
        }
        after_name = n != 0 || is_of_word(*from) || is_before_generics(name, from);
        n += n != 0 && from[n] == ' ' && from[n + 1] == '<';
        for (n += n == 0; n > 0; n--) {
            *to++ = *from++;
        }
    }
    *to = 0;
}

/* Leading namespaces, and the type that a template's function returns; not what is inside of angle brackets.
 */
static void leave_out_namespaces(char *name, int width) {
    int depth = 0, left = name_width(name);
    for (char *at = name; *at != 0 && name[0] != '<'; at++) {
        for (size_t n = operator_at(name, at); n != 0; n--, at++) {
            left--;
        }
        depth += (*at == '<') - (*at == '>');
        if (depth == 0 && at > name + 3 && strncmp(at, "::", 2) == 0 && left + 3 <= width &&
            !is_before_generics(name, at + 1)) {
            memmove(name + 3, at, strlen(at) + 1);
            memset(name, '.', 3);
            return;
        }
        left -= ((unsigned char)*at & 0xc0) != 0x80;
        if (*at == 0) {
            return;
        }
    }
}

/* The target of a std::function, which may appear only in the name of the calling function:
 * "std::_Function_handler<void (), init():: {lambda()#1}>::_M_invoke(...)". Returns the last template
 * argument; NULL for other names. */
static char *called_by_handler(const char *name) {
    static const char handler[] = "std::_Function_handler<";
    const char *open = name + sizeof handler - 2, *last = NULL;
    if (strncmp(name, handler, sizeof handler - 1) != 0) {
        return NULL;
    }
    const char *close = end_bracket(name, open);
    int depth = 0;
    for (const char *at = open + 1; close != NULL && at < close; at++) {
        depth += (strchr("<({", *at) != NULL) - (strchr(">)}", *at) != NULL);
        if (depth == 0 && strncmp(at, ", ", 2) == 0) {
            last = at + 2;
        }
    }
    return last != NULL ? strndup(last, (size_t)(close - last) - (close[-1] == ' ')) : NULL;
}

/* True if the function's own name begins here: "operator()", "operator new", "operator std::string". */
static bool is_operator(const char *name, const char *at) {
    return strncmp(at, "operator", 8) == 0 && !is_of_word(at[8]) && (at == name || !is_of_word(at[-1]));
}

/* Cuts an operator's name behind what names it. */
static void cut_operator(char *at) {
    at += strncmp(at, "operator()", 10) == 0 ? 10 : 8;
    at[strcspn(at, "(")] = '\0';
}

/* "void app::Rows<int>::update(int)" is "update". A function keeps its generics: "sort::<u8>". */
static void keep_bare_name(char *name) {
    char *start = name;
    int depth = 0;
    for (char *at = name; *at != '\0'; at++) {
        depth += (*at == '<' || *at == '{') - (*at == '>' || *at == '}');
        if (depth == 0 && is_operator(name, at)) {
            start = at;
            cut_operator(start);
            break;
        }
        if (depth == 0 && *at == '(' && at > start) {
            *at = '\0';
            break;
        }
        bool ends = *at == ' ' || (at > name && at[-1] == ':' && *at == ':');
        if (depth == 0 && ends && at[1] != '\0' && at[1] != '<') {
            start = at + 1;
        }
    }
    memmove(name, start, strlen(start) + 1);
}

char *short_name(const char *name, int width) {
    char *text = called_by_handler(name);
    if (text == NULL) {
        text = strdup(name);
    }
    if (text != NULL && name_width(text) > width) {
        leave_out_parameters(text);
    }
    if (text != NULL && name_width(text) > width) {
        leave_out_templates(text);
    }
    if (text != NULL && name_width(text) > width) {
        leave_out_namespaces(text, width);
    }
    if (text != NULL && name_width(text) > width) {
        keep_bare_name(text);
    }
    return text;
}
