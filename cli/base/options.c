/* SPDX-License-Identifier: MIT */
#include "cli/base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/commit.h"
#include "cli/base/duration.h"
#include "cli/base/error.h"
#include "cli/base/help.h"
#include "cli/base/shell_quote.h"
#include "cli/base/suggestion.h"
#include "cli/base/terminal.h"
#include "hangdog/hangdog.h"

#define NAMES_BYTES 1024
#define OPERANDS_MAX 4096

static struct common {
    bool help, version, quiet;
    const char *color;
} common;

const struct command_option options_common[] = {
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .to = offsetof(struct common, help),
     .help = "print this help"},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .to = offsetof(struct common, version),
     .help = "print the version"},
    {.name = "color",
     .kind = OPTION_TEXT,
     .to = offsetof(struct common, color),
     .value = "WHEN",
     .words = "auto|always|never",
     .help = "colour: auto, always or never",
     .more = "auto: on a terminal, unless NO_COLOR is set or TERM is dumb. CLICOLOR_FORCE means always."},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .to = offsetof(struct common, quiet),
     .help = "print errors only"},
    {0},
};

bool options_quiet(void) {
    return common.quiet;
}

int options_wrong_use(const struct command *c, const char *format, ...) {
    char text[PROBLEM_BYTES], command[PROBLEM_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strstr(text, "did you mean") != NULL) { /* the text already says what to do */
        print_error("%s", text);
        return c->wrong_use != 0 ? c->wrong_use : EXIT_USAGE;
    }
    snprintf(command, sizeof command, "%s%s%s --help", shell_own_command(), c->name[0] != '\0' ? " " : "",
             c->name);
    print_error_try(command, "%s", text);
    return c->wrong_use != 0 ? c->wrong_use : EXIT_USAGE;
}

/* One option on the command line. */
struct given {
    const struct command_option *option;
    void *to;          /* the struct that the option's offset refers to */
    const char *value; /* NULL: none */
};

/* The table's options, then the common ones. NULL at the end. */
static const struct command_option *option_at(const struct command *c, size_t i, bool *is_common) {
    size_t own = 0;
    while (c->options != NULL && c->options[own].name != NULL) {
        own++;
    }
    *is_common = i >= own;
    const struct command_option *o = i < own ? &c->options[i] : &options_common[i - own];
    return o->name != NULL ? o : NULL;
}

/* The option of this name, or of which it is the only beginning. NULL, and in `names` those that it begins.
 */
static const struct command_option *find_long(const struct command *c, const char *name, size_t length,
                                              bool *is_common, char names[NAMES_BYTES]) {
    const struct command_option *found = NULL;
    size_t matches = 0, n = 0;
    bool common_one;
    names[0] = '\0';
    for (size_t i = 0;; i++) {
        const struct command_option *o = option_at(c, i, &common_one);
        if (o == NULL) {
            break;
        }
        bool whole = (strlen(o->name) == length && strncmp(o->name, name, length) == 0) ||
                     (o->alias != NULL && strlen(o->alias) == length && strncmp(o->alias, name, length) == 0);
        if (!whole && (length == 0 || strncmp(o->name, name, length) != 0)) {
            continue;
        }
        found = o;
        *is_common = common_one;
        if (whole) {
            return o;
        }
        n += (size_t)snprintf(names + n, n < NAMES_BYTES ? NAMES_BYTES - n : 0, "%s--%s",
                              matches++ == 0 ? "" : ", ", o->name);
    }
    return matches == 1 ? found : NULL;
}

static int unknown_long(const struct command *c, const char *name, size_t length, const char *names) {
    if (strchr(names, ',') != NULL) {
        return options_wrong_use(c, "'--%.*s' is ambiguous: %s", (int)length, name, names);
    }
    char word[64];
    struct suggestion nearest = {.word = word};
    bool is_common;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    for (size_t i = 0; i < sizeof c->instead / sizeof c->instead[0]; i++) {
        if (c->instead[i].option != NULL && strcmp(c->instead[i].option, word) == 0) {
            if (c->instead[i].lacks != NULL) {
                return print_error_try(c->instead[i].command, "%s", c->instead[i].lacks);
            }
            return options_wrong_use(c, "unknown option '--%s'; did you mean '%s'?", word,
                                     c->instead[i].command);
        }
    }
    for (size_t i = 0;; i++) {
        const struct command_option *o = option_at(c, i, &is_common);
        if (o == NULL) {
            break;
        }
        suggestion_add(&nearest, o->name);
    }
    if (nearest.nearest != NULL) {
        return options_wrong_use(c, "unknown option '--%.*s'; did you mean '--%s'?", (int)length, name,
                                 nearest.nearest);
    }
    return options_wrong_use(c, "unknown option '--%.*s'", (int)length, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

static int take_count(const struct command *c, const struct given *g, long *to) {
    const struct command_option *o = g->option;
    char *end;
    errno = 0;
    long v = strtol(g->value, &end, 10);
    if (errno != 0 || end == g->value || *end != '\0' || v < o->min || v > o->max) {
        return options_wrong_use(c, "--%s '%s': want a number from %ld to %ld", o->name, g->value,
                                 (long)o->min, (long)o->max);
    }
    *to = v;
    return 0;
}

static int take_duration(const struct command *c, const struct given *g, int64_t *to) {
    const struct command_option *o = g->option;
    char least[DURATION_BYTES], most[DURATION_BYTES];
    int64_t ns = duration_parse(g->value);
    if (ns < o->min || ns > o->max) {
        return options_wrong_use(c, "--%s '%s': want %s to %s, as %s", o->name, g->value,
                                 duration_write(least, o->min), duration_write(most, o->max),
                                 o->max >= 2 * DURATION_S ? "2s" : "20ms");
    }
    *to = ns;
    return 0;
}

/* True when the value is one of "a|b|c". */
static bool is_one_of(const char *words, const char *value, struct suggestion *nearest, char *copy) {
    char *rest = NULL;
    for (char *word = strtok_r(copy, "|", &rest); word != NULL; word = strtok_r(NULL, "|", &rest)) {
        if (strcmp(word, value) == 0) {
            return true;
        }
        suggestion_add(nearest, word);
    }
    (void)words;
    return false;
}

static int take_text(const struct command *c, const struct given *g, const char **to) {
    const struct command_option *o = g->option;
    char copy[512] = "", wanted[512] = "";
    struct suggestion nearest = {.word = g->value};
    *to = g->value;
    if (o->words == NULL) {
        return 0;
    }
    snprintf(copy, sizeof copy, "%s", o->words);
    if (is_one_of(o->words, g->value, &nearest, copy)) {
        return 0;
    }
    if (nearest.nearest != NULL) {
        return options_wrong_use(c, "--%s '%s': did you mean '%s'?", o->name, g->value, nearest.nearest);
    }
    size_t n = 0;
    for (const char *w = o->words; *w != '\0' && n + 3 < sizeof wanted; w++) {
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, *w == '|' ? ", " : "%c", *w);
    }
    return options_wrong_use(c, "--%s '%s': want one of %s", o->name, g->value, wanted);
}

/* 0, or the status of a wrong use. */
static int take(const struct command *c, const struct given *g) {
    const struct command_option *o = g->option;
    void *to = (char *)g->to + o->to;
    if (o->optional && g->value == NULL) {
        *(const char **)to = "";
        return 0;
    }
    if (o->kind != OPTION_FLAG && g->value[0] == '\0') {
        return options_wrong_use(c, "--%s '': want %s", o->name, o->value);
    }
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return 0;
    case OPTION_TEXT:
        return take_text(c, g, to);
    case OPTION_COUNT:
        return take_count(c, g, to);
    case OPTION_DURATION:
        return take_duration(c, g, to);
    case OPTION_LIST: {
        struct text_list *list = to;
        if (list->count == TEXT_LIST_MAX) {
            return options_wrong_use(c, "--%s is given more than %d times", o->name, TEXT_LIST_MAX);
        }
        list->text[list->count++] = g->value;
        return 0;
    }
    }
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The command line as far as it is read. */
struct words {
    int argc, at;
    char **argv;
};

static const char *next_word(struct words *w) {
    return w->at < w->argc ? w->argv[w->at++] : NULL;
}

static int take_long(const struct command *c, void *to, struct words *w, const char *word) {
    char names[NAMES_BYTES];
    bool is_common = false;
    size_t length = strcspn(word + 2, "=");
    const char *equals = word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    const struct command_option *o = find_long(c, word + 2, length, &is_common, names);
    struct given g = {.option = o, .to = is_common ? (void *)&common : to, .value = equals};
    if (o == NULL) {
        return unknown_long(c, word + 2, length, names);
    }
    if (o->kind == OPTION_FLAG && equals != NULL) {
        return options_wrong_use(c, "'--%s' takes no value", o->name);
    }
    if (o->kind != OPTION_FLAG && !o->optional && equals == NULL && (g.value = next_word(w)) == NULL) {
        return options_wrong_use(c, "'--%s' lacks its value, %s", o->name, o->value);
    }
    return take(c, &g);
}

/* A cluster of letters; the last one may have a value. */
static int take_letters(const struct command *c, void *to, struct words *w, const char *word) {
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct command_option *o;
        bool is_common;
        for (size_t i = 0; (o = option_at(c, i, &is_common)) != NULL && o->letter != *letter; i++) {
        }
        if (o == NULL) {
            return options_wrong_use(c, "unknown option '-%c'", *letter);
        }
        struct given g = {.option = o, .to = is_common ? (void *)&common : to};
        bool last = o->kind != OPTION_FLAG;
        if (last) {
            g.value = letter[1] != '\0' ? letter + 1 : next_word(w);
        }
        if (last && g.value == NULL) {
            return options_wrong_use(c, "'-%c' lacks its value, %s", *letter, o->value);
        }
        int status = take(c, &g);
        if (status != 0 || last) {
            return status;
        }
    }
    return 0;
}

/* True: --help or --version has been printed, and the command is done. */
static bool help_or_version(const struct command *c, int *status) {
    terminal_choose_colour(common.color);
    if (common.help) {
        help_print(stdout, c);
        *status = error_check_stdout("the help");
    } else if (common.version) {
        bool known = build_commit != NULL && build_commit[0] != '\0';
        printf("hangdog " HANGDOG_VERSION "%s%s%s\n", known ? " (" : "", known ? build_commit : "",
               known ? ")" : "");
        *status = error_check_stdout("the version");
    }
    return common.help || common.version;
}

int options_parse(const struct command *c, void *to, int argc, char **argv, int *status) {
    struct words w = {.argc = argc, .at = 1, .argv = argv};
    int operands = 0;
    char **operand = malloc((size_t)(argc + 1) * sizeof *operand);
    *status = 0;
    while (operand != NULL && w.at < argc && *status == 0) {
        char *word = argv[w.at++];
        if (strcmp(word, "--") == 0) {
            break;
        }
        if (word[0] != '-' || word[1] == '\0') {
            if (c->stops) {
                w.at--;
                break;
            }
            operand[operands++] = word;
        } else {
            *status = word[1] == '-' ? take_long(c, to, &w, word) : take_letters(c, to, &w, word);
        }
        if (common.help && *status == 0) {
            break;
        }
    }
    /* Operands go to the end of what was read, in their order. */
    if (operand != NULL) {
        memcpy(argv + w.at - operands, operand, (size_t)operands * sizeof *operand);
    } else {
        *status = print_error("cannot read the options: out of memory");
    }
    free(operand);
    return *status != 0 || help_or_version(c, status) ? -1 : w.at - operands;
}
