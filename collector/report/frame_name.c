/* SPDX-License-Identifier: MIT */
#include "collector/report/frame_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/base/path.h"
#include "cli/reader/frame_origin.h"

/* Ends the name where the compiler's own words begin: clones of one function. */
static void cut_clone(char *name) {
    static const char *const marks[] = {" [clone",     ".cold",      ".part.", ".isra.",
                                        ".constprop.", ".lto_priv.", ".llvm."};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        char *mark = strstr(name, marks[i]);
        if (mark != NULL && mark != name) {
            *mark = '\0';
        }
    }
}

/* "::h0123456789abcdef" at the end */
static void cut_rust_hash(char *name) {
    size_t n = strlen(name);
    if (n > 19 && strncmp(name + n - 19, "::h", 3) == 0 && strspn(name + n - 16, "0123456789abcdef") == 16) {
        name[n - 19] = '\0';
    }
}

/* The end of what `*p` opens, or of the text. */
static const char *matching_end(const char *p, char open, char close) {
    int depth = 0;
    for (; *p != '\0'; p++) {
        depth += *p == open;
        depth -= *p == close;
        if (depth == 0) {
            return p + 1;
        }
    }
    return p;
}

/* Template arguments follow a name; "operator<" and Rust's "<T as Trait>" have no arguments. */
static bool opens_arguments(const char *start, const char *p) {
    static const char word[] = "operator";
    size_t before = (size_t)(p - start);
    for (int i = 0; i < 2 && before > 0 && p[-1] == '<';
         i++) { /* operator<<, and no more: a name may be hostile */
        p--;
        before--;
    }
    if (before >= sizeof word - 1 && strncmp(p - (sizeof word - 1), word, sizeof word - 1) == 0) {
        return false;
    }
    return before > 0 && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
}

/* Copies without arguments; the first list of parameters ends the name. */
static void copy_plain(const char *name, char out[FRAME_NAME_BYTES]) {
    size_t n = 0;
    for (const char *p = name; *p != '\0' && n + 1 < FRAME_NAME_BYTES;) {
        if (*p == '<' && opens_arguments(name, p)) {
            p = matching_end(p, '<', '>');
        } else if (strncmp(p, "(anonymous namespace)::", 23) == 0) {
            p += 23;
        } else if (p[0] == '$' && p[1] == '_') { /* clang's lambda: $_0 */
            n += (size_t)snprintf(out + n, FRAME_NAME_BYTES - n, "{lambda}");
            p += 2 + strspn(p + 2, "0123456789");
        } else if (strncmp(p, "{lambda", 7) == 0 || strncmp(p, "{closure", 8) == 0) {
            n +=
                (size_t)snprintf(out + n, FRAME_NAME_BYTES - n, "%s", p[1] == 'l' ? "{lambda}" : "{closure}");
            p = matching_end(p, '{', '}');
        } else if (*p == '(' && strncmp(p, "(anonymous", 10) != 0 && n > 0 && out[n - 1] != ' ') {
            const char *after = matching_end(p, '(', ')');
            after += strncmp(after, " const::", 8) == 0 ? 6 : 0;
            if (strncmp(after, "::", 2) != 0) { /* a name such as f(int)::{lambda()#1} continues */
                break;
            }
            p = after;
        } else {
            out[n++] = *p++;
        }
        n = n < FRAME_NAME_BYTES ? n : FRAME_NAME_BYTES - 1;
    }
    out[n] = '\0';
}

/* A part of a function that Python makes one of its own: of "f.<locals>.<genexpr>" f. */
static void cut_comprehension(char *name) {
    static const char *const ends[] = {".<locals>.<genexpr>", ".<locals>.<listcomp>", ".<locals>.<setcomp>",
                                       ".<locals>.<dictcomp>"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char *end = strstr(name, ends[i]);
        if (end != NULL && end != name && end[strlen(ends[i])] == '\0') {
            *end = '\0';
        }
    }
}

/* "void std::__invoke_impl" begins with its result. */
static const char *behind_result(const char *name) {
    const char *at = strstr(name, "operator"), *word = name;
    for (const char *p = name; *p != '\0' && p != at; p++) {
        word = *p == ' ' ? p + 1 : word;
    }
    return word;
}

void frame_name_show(char name[FRAME_NAME_BYTES]) {
    static const char word[] = "operator";
    const size_t n = strlen(name), length = sizeof word - 1;
    if (n >= length && n + 3 <= FRAME_NAME_BYTES && strcmp(name + n - length, word) == 0 &&
        (n == length || name[n - length - 1] == ':')) {
        memcpy(name + n, "()", 3);
    }
}

bool frame_name_is_glue(const char *name) {
    static const char *const starts[] = {"std::", "__gnu_cxx::", "__gthread_"};
    const char *word = behind_result(name);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strncmp(word, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool frame_name_is_anonymous(const char *name) {
    static const char *const names[] = {"(anonymous)", "<anonymous>", "<lambda>", "operator"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the qualified name begins that ends before `end`: "A<B, f(int)" ends with f(int). */
static const char *name_before(const char *text, const char *end) {
    int depth = 0;
    while (end > text) {
        char c = end[-1];
        bool opens = c == '(' || c == '<';
        if (depth == 0 && (opens || c == ',' || c == ' ')) {
            break;
        }
        depth += c == ')' || c == '>' ? 1 : opens ? -1 : 0;
        end--;
    }
    return end;
}

bool frame_name_equal(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    if (m < n) {
        return frame_name_equal(b, a);
    }
    return strcmp(a + m - n, b) == 0 &&
           (m == n || (n > 0 && m > n + 2 && strncmp(a + m - n - 2, "::", 2) == 0));
}

static size_t length_of_character(const unsigned char *p) {
    size_t n = *p < 0x80                 ? 1
               : *p >= 0xc2 && *p < 0xe0 ? 2
               : *p >= 0xe0 && *p < 0xf0 ? 3
               : *p >= 0xf0 && *p < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return *p < ' ' || *p == 0x7f ? 0 : n;
}

void frame_name_mend(char *text) {
    while (*text != '\0') {
        size_t n = length_of_character((const unsigned char *)text);
        if (n == 0) {
            *text = '?';
            n = 1;
        }
        text += n;
    }
}

bool frame_name_of_lambda(const json_t *frame, char out[FRAME_NAME_BYTES]) {
    static const char *const marks[] = {"::{lambda", "::<lambda", "::$_"};
    static const char called[] = "::{lambda}::operator";
    const char *text = json_string_value(json_object_get(frame, "function")), *mark = NULL;
    char name[4 * FRAME_NAME_BYTES];
    for (size_t i = 0; text != NULL && mark == NULL && i < sizeof marks / sizeof marks[0]; i++) {
        mark = strstr(text, marks[i]);
    }
    if (mark == NULL) {
        return false;
    }
    const char *end = mark - text > 6 && strncmp(mark - 6, " const", 6) == 0 ? mark - 6 : mark;
    const char *start = name_before(text, end);
    if (end == start || end - start + sizeof called > sizeof name) {
        return false;
    }
    snprintf(name, sizeof name, "%.*s%s", (int)(end - start), start, called);
    copy_plain(name, out);
    frame_name_mend(out);
    return !frame_name_is_glue(out);
}

const char *frame_name(const json_t *report, const json_t *frame, char out[FRAME_NAME_BYTES]) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    if (name != NULL && json_object_get(frame, "language") != NULL) {
        snprintf(out, FRAME_NAME_BYTES, "%s", name);
        cut_comprehension(out);
    } else if (name != NULL) {
        char whole[4 * FRAME_NAME_BYTES];
        snprintf(whole, sizeof whole, "%s", name);
        cut_clone(whole);
        cut_rust_hash(whole);
        copy_plain(whole, out);
    } else {
        const json_t *module = report_frame_module(report, frame);
        const char *file = base_name(json_string_value(json_object_get(module, "path")));
        const char *start = json_string_value(json_object_get(frame, "start"));
        snprintf(out, FRAME_NAME_BYTES, "%.120s+%.40s", file != NULL ? file : "?",
                 start != NULL ? start : "?");
    }
    frame_name_mend(out); /* also: a line each in what is hashed */
    return out;
}

void frame_name_add_pool(char *place, size_t size, const json_t *report) {
    const char *pool = json_text(json_object_get(report, "pool"), "name");
    size_t used = strlen(place);
    if (pool[0] != '\0') {
        snprintf(place + used, size - used, "%spool %.20s", used > 0 ? ", " : "", pool);
        frame_name_mend(place);
    }
}
