/* SPDX-License-Identifier: MIT
 *
 * hangdog COMMAND.
 */
#include "cli/base/deep_stack.h"
#include "cli/base/error.h"
#include "cli/base/help.h"
#include "cli/base/program_find.h"
#include "cli/base/shell_quote.h"
#include "cli/base/suggestion.h"
#include "cli/commands.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
    const struct command *command;
    int argc;
    char **argv;
    int status;
};

static void make(void *call) {
    struct call *c = call;
    c->status = c->command->run(c->argc, c->argv);
}

/* `hangdog ./server -p 80`, as gdb and strace take it. */
static int advise_run(int argc, char **argv) {
    char line[PROBLEM_BYTES] = "", word[PROBLEM_BYTES];
    struct problem why;
    for (int i = 0, n = 0; i < argc && n < (int)sizeof line; i++) {
        quote_word(word, sizeof word, argv[i]);
        n += snprintf(line + n, sizeof line - (size_t)n, " %s", word);
    }
    error_set(&why, "unknown command '%.500s'", argv[0]);
    error_try(&why, "%.500s run --%.1400s", shell_own_command(), line);
    error_print(&why);
    return EXIT_USAGE;
}

static int run_command(const char *name, int argc, char **argv) {
    struct suggestion nearest = {.word = name};
    for (const struct command *const *c = command_hangdog.commands; *c != NULL; c++) {
        struct call call = {*c, argc, argv, EXIT_ERROR};
        if ((*c)->group != NULL) {
            suggestion_add(&nearest, (*c)->name);
        }
        if (strcmp((*c)->name, name) != 0) {
            continue;
        }
        if (!(*c)->stops) {
            signal(SIGPIPE,
                   SIG_DFL); /* a reader that goes ends us silently; a program keeps what it was given */
        }
        if ((*c)->deep) {
            on_a_deep_stack(make, &call);
        } else {
            make(&call);
        }
        return call.status;
    }
    if (nearest.nearest != NULL && strchr(name, '/') == NULL) {
        return options_wrong_use(&command_hangdog, "unknown command '%s'; did you mean '%s'?", name,
                                 nearest.nearest);
    }
    char path[PATH_MAX];
    if (program_find(argv[0], path, sizeof path) && program_is_executable(path)) {
        return advise_run(argc, argv);
    }
    return options_wrong_use(&command_hangdog, "unknown command '%s'", name);
}

/* `hangdog help list` is `hangdog list --help`. */
static int help(int argc, char **argv) {
    char option[] = "--help";
    char *words[] = {argv[argc - 1], option, NULL};
    if (argc > 2) {
        return options_wrong_use(&command_hangdog, "unexpected '%s'", argv[2]);
    }
    if (argc == 2) {
        return run_command(argv[1], 2, words);
    }
    help_print(stdout, &command_hangdog);
    return error_check_stdout("the help");
}

int main(int argc, char **argv) {
    struct before_command before = {0};
    int status = 0, first = options_parse(&command_hangdog, &before, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    if (first == argc) {
        help_print(stderr, &command_hangdog);
        return EXIT_USAGE;
    }
    char *name = argv[first];
    if (strcmp(name, "help") == 0) {
        return help(argc - first, argv + first);
    }
    /* `hangdog --json list` is `hangdog list --json`: the command reads its options itself. */
    memmove(argv + 2, argv + 1, (size_t)(first - 1) * sizeof *argv);
    argv[1] = name;
    return run_command(name, argc - 1, argv + 1);
}
