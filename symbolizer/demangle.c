/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust functions as they were written. Ordinary code.
 */
#include "symbolizer/symbolizer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 4096   /* a longer one is not demangled: the demangler recurses */
#define RESULT_MAX_BYTES 8192 /* back-references can make megabytes of a short name */

/* The demangler of the C++ runtime; its header is C++ only. */
char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

/* Rust's older mangling is C++'s with a hash as the last part: "core::fmt::write::h0123456789abcdef". True:
 * it is that. */
static bool cut_rust_hash(char *name) {
    size_t n = strlen(name);
    if (n <= 19 || strncmp(name + n - 19, "::h", 3) != 0 || strspn(name + n - 16, "0123456789abcdef") < 16)
        return false;
    name[n - 19] = 0;
    return true;
}

/* The character that "LT", between two dollar signs, stands for; "u7b": of that number. 0: none. */
static char rust_character(const char *word, size_t n) {
    static const struct {
        const char word[3], character;
    } words[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
                 {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == n && strncmp(words[i].word, word, n) == 0)
            return words[i].character;
    char *end;
    unsigned long number = n == 3 && word[0] == 'u' ? strtoul(word + 1, &end, 16) : 0;
    return number >= ' ' && number < 0x7f && end == word + n ? (char)number : 0;
}

/* What C++'s mangling has no room for, as "_$LT$alloc..vec..Vec$LT$T$GT$$GT$": each part that begins with
 * such a character has an underscore before it. */
static void unescape_rust(char *name) {
    char *to = name;
    bool first = true; /* of its part */
    for (const char *from = name; *from != 0;) {
        from += first && strncmp(from, "_$", 2) == 0;
        first = strncmp(from, "::", 2) == 0;
        size_t word = *from == '$' ? strcspn(from + 1, "$") : 0;
        char character = word != 0 && from[word + 1] == '$' ? rust_character(from + 1, word) : 0;
        if (character != 0) {
            *to++ = character;
            from += word + 2;
        } else if (first || strncmp(from, "..", 2) == 0) {
            *to++ = ':';
            *to++ = ':';
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

/* The C++ demangler, which knows no name of Rust's that goes on after its hash: LLVM tells copies apart
 * there. NULL: it is no mangled name. */
static char *demangle(const char *name) {
    const char *suffix = strstr(name, "E.llvm.");
    bool rust = suffix != NULL && suffix - name > 19 && strncmp(suffix - 19, "17h", 3) == 0;
    char *cut = rust ? strndup(name, (size_t)(suffix + 1 - name)) : NULL;
    char *plain = __cxa_demangle(cut != NULL ? cut : name, NULL, NULL, NULL);
    free(cut);
    return plain;
}

char *symbolizer_demangle(const char *name) {
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > NAME_MAX_BYTES)
        return strdup(name);
    char *plain = demangle(name);
    if (plain == NULL || strlen(plain) > RESULT_MAX_BYTES) {
        free(plain);
        return strdup(name);
    }
    if (cut_rust_hash(plain))
        unescape_rust(plain);
    return plain;
}
