/* SPDX-License-Identifier: MIT */
#include "symbolizer/jit_name.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The text after V8's word for a function: a name and a place. NULL: not a name of V8. */
static char *after_v8_word(char *name) {
    static const char *const words[] = {
        "JS:", "LazyCompile:", "Function:", "InterpretedFunction:", "Script:", "Module:", "Eval:"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(name, words[i], n) == 0) {
            name += n;
            return name + (*name != 0 && strchr("~^*+-", *name) != NULL); /* how far it is optimized */
        }
    }
    return NULL;
}

/* Cuts ":DIGITS" off the end. Its number, -1: there is none. */
static int cut_number(char *text) {
    char *colon = strrchr(text, ':'), *end;
    if (colon == NULL || colon[1] < '0' || colon[1] > '9') {
        return -1;
    }
    long v = strtol(colon + 1, &end, 10);
    if (*end != 0) {
        return -1;
    }
    *colon = 0;
    return v < INT_MAX ? (int)v : INT_MAX;
}

/* Where the file's name begins, at the space before it: paths and functions both may have spaces in them. */
static char *before_file(char *text) {
    static const char *const beginnings[] = {" /", " file:", " node:"};
    for (unsigned i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        char *at = strstr(text, beginnings[i]);
        if (at != NULL) {
            return at;
        }
    }
    return strrchr(text, ' ');
}

/* python -X perf: "py::Server.handle:/srv/app.py". */
static struct jit_name parse_python(char *text) {
    struct jit_name out = {.function = text, .language = "python"};
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = 0;
        out.file = colon[1] != 0 ? colon + 1 : NULL;
    }
    return out;
}

struct jit_name jit_name_parse(char *name) {
    struct jit_name out = {.function = name};
    char *text = after_v8_word(name), *file;
    if (text == NULL) {
        return strncmp(name, "py::", 4) == 0 ? parse_python(name + 4) : out;
    }
    out.language = "javascript";
    out.function = text;
    int last = cut_number(text), line = last < 0 ? -1 : cut_number(text);
    if (line < 0) {
        line = last; /* before version 20 Node writes no column */
    }
    if (line >= 0 && (file = before_file(text)) != NULL) {
        *file++ = 0;
        if (strncmp(file, "file://", 7) == 0) {
            file += 7;
        }
        out.file = *file != 0 ? file : NULL;
        out.line = line;
    }
    if (out.function[0] == 0) {
        out.function = "(anonymous)";
    }
    return out;
}
