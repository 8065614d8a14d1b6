/* SPDX-License-Identifier: MIT */
#include "cli/base/help.h"

#include <string.h>

#define HELP_COLUMNS 80
#define WIDTH_MAX 24 /* of an option; longer ones push their own line */
#define ALL "All: -h --help, -V --version, -q --quiet, --color WHEN"

const char *help_words(char text[HELP_WORDS_BYTES], const struct command_option *o) {
    char letter[] = "    ";
    if (o->letter != '\0') {
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    }
    snprintf(text, HELP_WORDS_BYTES, "%s--%s%s%s%s", letter, o->name,
             o->optional        ? "[="
             : o->value != NULL ? " "
                                : "",
             o->value != NULL ? o->value : "", o->optional ? "]" : "");
    return text;
}

static void print_examples(FILE *out, const struct command *c) {
    int width = 0;
    for (size_t i = 0; i < EXAMPLES_MAX && c->example[i].arguments != NULL; i++) {
        int n = (int)strlen(c->example[i].arguments);
        width = n > width ? n : width;
    }
    for (size_t i = 0; i < EXAMPLES_MAX && c->example[i].arguments != NULL; i++) {
        fprintf(out, "  hangdog %-*s   %s\n", width, c->example[i].arguments, c->example[i].what);
    }
}

/* "one, two, three" in lines below an option's help. */
static void print_listed(FILE *out, const char *words, int margin) {
    int column = HELP_COLUMNS;
    while (*words != '\0') {
        int n = (int)strcspn(words, "|"), more = words[n] == '|';
        if (column + 1 + n + more > HELP_COLUMNS) {
            fprintf(out, "%s%*s", column < HELP_COLUMNS ? "\n" : "", margin, "");
            column = margin;
        } else {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s%s", n, words, more ? "," : "");
        column += n + more;
        words += n + more;
    }
    fputc('\n', out);
}

static void print_options(FILE *out, const struct command_option *options) {
    char words[HELP_WORDS_BYTES];
    int width = 0;
    for (const struct command_option *o = options; o->name != NULL; o++) {
        int n = (int)strlen(help_words(words, o));
        width = n > width && n <= WIDTH_MAX ? n : width;
    }
    fputc('\n', out);
    for (const struct command_option *o = options; o->name != NULL; o++) {
        if (o->group != NULL) {
            fprintf(out, "%s:\n", o->group);
        }
        if (!o->rare) {
            fprintf(out, "  %-*s  %s\n", width, help_words(words, o), o->help);
            if (o->listed) {
                print_listed(out, o->words, width + 4);
            }
        }
    }
}

/* "Look back: list stats show" */
static void group_words(char words[HELP_COLUMNS + 1], const struct command *const *first) {
    size_t n = (size_t)snprintf(words, HELP_COLUMNS + 1, "%s:", (*first)->group);
    for (const struct command *const *c = first;
         *c != NULL && (*c)->group != NULL && strcmp((*c)->group, (*first)->group) == 0; c++) {
        n += (size_t)snprintf(words + n, n <= HELP_COLUMNS ? HELP_COLUMNS + 1 - n : 0, " %s", (*c)->name);
    }
}

static void print_commands(FILE *out, const struct command *const *commands) {
    size_t column = 0;
    fputc('\n', out);
    for (const struct command *const *c = commands; *c != NULL; c++) {
        char words[HELP_COLUMNS + 1];
        if ((*c)->group == NULL ||
            (c != commands && c[-1]->group != NULL && strcmp(c[-1]->group, (*c)->group) == 0)) {
            continue; /* printed with the words of the group */
        }
        group_words(words, c);
        const char *between = column == 0 ? "" : column + 3 + strlen(words) > HELP_COLUMNS ? "\n" : "   ";
        fprintf(out, "%s%s", between, words);
        column = strlen(words) + (between[0] == ' ' ? column + 3 : 0);
    }
    fputs("\n" ALL "\nMost: --json, --spool DIR   More: hangdog COMMAND --help, man hangdog\n", out);
}

void help_print(FILE *out, const struct command *c) {
    fprintf(out, "%s.\n\nUsage: hangdog %s%s%s\n", c->about, c->name, c->name[0] != '\0' ? " " : "",
            c->usage);
    print_examples(out, c);
    if (c->commands != NULL) {
        print_commands(out, c->commands);
        return;
    }
    if (c->options != NULL) {
        print_options(out, c->options);
    }
    /* A help with groups is long: it has no empty line to spare. */
    fputs(c->options == NULL || c->options[0].group == NULL ? "\n" ALL "\n" : ALL "\n", out);
}
