/* SPDX-License-Identifier: MIT */
#include "base/script_argument.h"

#include <stddef.h>
#include <string.h>

static const char *base_of(const char *path) {
    const char *base = path;
    for (; *path != '\0'; path++) {
        base = *path == '/' ? path + 1 : base;
    }
    return base;
}

/* The first `n` bytes are one of the words of a list. A list is a text, with a blank behind each word. An
 * array of pointers would cost the watched process a relocation of 32 bytes for each word. */
static bool is_word(const char *text, size_t n, const char *words) {
    for (const char *at = words, *word = words; n > 0 && *at != '\0'; at++) {
        if (*at == ' ') {
            if ((size_t)(at - word) == n && strncmp(word, text, n) == 0) {
                return true;
            }
            word = at + 1;
        }
    }
    return false;
}

/* The program has one of these names, with or without a version behind the name. */
static bool is_named(const char *program, const char *names) {
    const char *end = program;
    while (*end >= 'a' && *end <= 'z') {
        end++;
    }
    size_t n = (size_t)(end - program);
    while (*end == '-' || *end == '.' || (*end >= '0' && *end <= '9')) {
        end++;
    }
    return *end == '\0' && is_word(program, n, names);
}

bool hd_script_is_shell(const char *program) {
    return is_named(base_of(program), "sh bash dash zsh ksh ");
}

bool hd_script_is_interpreter(const char *program) {
    return hd_script_is_shell(program) || strcmp(base_of(program), "java") == 0 ||
           is_named(base_of(program), "python pypy node nodejs ruby perl php lua luajit ");
}

const char *hd_script_argument(char *const *argv) {
    const char *program = argv[0] != NULL ? base_of(argv[0]) : "";
    bool java = strcmp(program, "java") == 0;
    const char *with_value = is_named(program, "python pypy ") ? "-X -W "
                             : is_named(program, "php ")
                                 ? "-S -t -d "
                                 : "-r -I -C -o -O +O --require --import --loader --rcfile --init-file ";
    if (!hd_script_is_interpreter(program)) {
        return NULL;
    }
    for (argv++; *argv != NULL && (*argv)[0] == '-'; argv++) {
        size_t n = strlen(*argv);
        if (is_word(*argv, n, "-m -jar -- ")) {
            return argv[1] != NULL && argv[1][0] != '\0' ? argv[1] : NULL;
        }
        if (!java && is_word(*argv, n, "-c -e -p --eval --print - ")) {
            return NULL;
        }
        if (is_word(*argv, n, with_value) && argv[1] != NULL) {
            argv++;
        }
    }
    return !java && *argv != NULL && (*argv)[0] != '\0' ? *argv
                                                        : NULL; /* Java may name a class, which has no file */
}
