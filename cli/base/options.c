/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: options of a command.
 */
#include "cli/base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/error.h"

#define OPTIONS_MAX 32
#define HELP 'h'
#define FIRST 256 /* of an option of the table: beyond every character */

#define NAME_BYTES 64

/* "--name VALUE", and how long that is. */
static int words_of(const struct command_option *o, char words[NAME_BYTES]) {
    return snprintf(words, NAME_BYTES, "--%s%s%s", o->name, o->value != NULL ? " " : "",
                    o->value != NULL ? o->value : "");
}

/* Lines, each one from the second on behind `indent` spaces. */
static void print_lines(const char *text, int indent) {
    for (; *text != '\0'; text++) {
        putchar(*text);
        if (*text == '\n') {
            printf("%*s", indent, "");
        }
    }
    putchar('\n');
}

static void print_help(const struct command *c) {
    static const struct command_option help = {.name = "help", .help = "this text"};
    char words[NAME_BYTES];
    int width = words_of(&help, words);
    for (const struct command_option *o = c->options; o->name != NULL; o++) {
        int n = words_of(o, words);
        width = n > width ? n : width;
    }
    printf("%s\n\nusage: hangdog %s %s\n\n", c->about, c->name, c->usage);
    if (c->operands != NULL) {
        printf("%s\n\n", c->operands);
    }
    for (const struct command_option *o = c->options;; o++) {
        const struct command_option *one = o->name != NULL ? o : &help;
        words_of(one, words);
        printf("  %-*s   ", width, words);
        print_lines(one->help, width + 5);
        if (one == &help) {
            break;
        }
    }
    printf("\n%s\n", c->after);
}

static bool parse_number(const struct command_option *o, const char *text) {
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < o->number.min || v > o->number.max) {
        return false;
    }
    *o->number.to = v;
    return true;
}

/* 0, or the status of a wrong use. */
static int take(const struct command *c, const struct command_option *o, const char *value) {
    if (o->flag != NULL) {
        *o->flag = true;
    } else if (value[0] == '\0') {
        return complain_usage(c->name, "'--%s' needs a value (%s), not an empty one", o->name, o->value);
    } else if (o->text != NULL) {
        *o->text = value;
    } else if (o->list == NULL) {
        return parse_number(o, value)
                   ? 0
                   : complain_usage(c->name, "--%s takes %s from %ld to %ld, not '%s'", o->name,
                                    strcmp(o->value, "MS") == 0 ? "milliseconds" : "a number", o->number.min,
                                    o->number.max, value);
    } else if (o->list->count == TEXT_LIST_MAX) {
        return complain_usage(c->name, "--%s can be given %d times", o->name, TEXT_LIST_MAX);
    } else {
        o->list->text[o->list->count++] = value;
    }
    return 0;
}

/* What getopt_long could not take; `word` is the one that it read last, which a cluster of letters is only
 * with its last. Returns the status. */
static int refuse(const struct command *c, const struct option *options, int got, const char *word) {
    char names[OPTIONS_MAX * NAME_BYTES] = "";
    int known = 0;
    if (got == ':') {
        return complain_usage(c->name, "'%s' needs a value", word);
    }
    if (optopt >= FIRST || optopt == HELP) {
        return complain_usage(c->name, "'%.*s' takes no value", (int)strcspn(word, "="), word);
    }
    if (optopt != 0) {
        return complain_usage(c->name, "there is no option '-%c'", optopt);
    }
    for (const struct option *o = options; o->name != NULL; o++) {
        if (strncmp(o->name, word + 2, strcspn(word + 2, "=")) == 0) {
            size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%s--%s", known++ == 0 ? "" : " or ", o->name);
        }
    }
    return known > 1 ? complain_usage(c->name, "'%s' may be %s", word, names)
                     : complain_usage(c->name, "there is no option '%s'", word);
}

int options_parse(const struct command *c, int argc, char **argv, int *status) {
    struct option options[OPTIONS_MAX + 1] = {{"help", no_argument, NULL, HELP}};
    for (int i = 0; c->options[i].name != NULL && i + 1 < OPTIONS_MAX; i++) {
        const struct command_option *o = &c->options[i];
        options[i + 1] =
            (struct option){o->name, o->flag != NULL ? no_argument : required_argument, NULL, FIRST + i};
    }
    opterr = 0;
    optind = 0; /* from anew */
    *status = 0;
    for (int got; (got = getopt_long(argc, argv, c->stops ? "+:h" : ":h", options, NULL)) != -1;) {
        if (got == HELP) {
            print_help(c);
            *status = written("the help");
            return -1;
        }
        *status = got < FIRST ? refuse(c, options, got, argv[optind - 1])
                              : take(c, &c->options[got - FIRST], optarg);
        if (*status != 0) {
            return -1;
        }
    }
    return optind;
}
