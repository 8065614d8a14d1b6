/* SPDX-License-Identifier: MIT
 *
 * The hangdog command: a table of its subcommands. Ordinary code.
 */
#include "cli/base/deep_stack.h"
#include "cli/base/error.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"
#include "hangdog/hangdog.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
    bool deep; /* all of it looks symbols up */
} commands[] = {
    {"run", cmd_run, "run a program and report its hangs", false},
    {"list", cmd_list, "list the reports", true},
    {"show", cmd_show, "show one report", true},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(FILE *out) {
    fputs("hangdog watches a program's event loop and tells which code hung it.\n\n"
          "usage: hangdog COMMAND [OPTIONS]\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-6s %s\n", commands[i].name, commands[i].summary);
    fputs("  help   this text, or that of a command: hangdog help run\n\n"
          "  --version   the version\n"
          "  --help      of the command before it\n\n"
          "To begin:  ",
          out);
    fprintf(out, "%s run -- PROGRAM ARGS...\n", own_command());
}

struct call {
    int (*run)(int argc, char **argv);
    int argc;
    char **argv;
    int status;
};

static void make(void *call) {
    struct call *c = call;
    c->status = c->run(c->argc, c->argv);
}

static int run_command(const char *name, int argc, char **argv) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        struct call c = {commands[i].run, argc, argv, EXIT_ERROR};
        if (commands[i].deep)
            on_a_deep_stack(make, &c);
        else
            make(&c);
        return c.status;
    }
    return complain_usage(NULL, "there is no command '%s'", name);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    bool help = strcmp(name, "help") == 0, of_all = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    bool version = strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0;
    int words = help ? 3 : 2;
    if ((help || of_all || version) && argc > words)
        return complain_usage(NULL, "'%s' is too much", argv[words]);
    if (version) {
        puts("hangdog " HANGDOG_VERSION);
        return written("the version");
    }
    if (of_all || (help && argc == 2)) {
        print_help(stdout);
        return written("the help");
    }
    if (help) {
        char option[] = "--help";
        char *of_command[] = {argv[2], option, NULL};
        return run_command(argv[2], 2, of_command);
    }
    if (name[0] == '-')
        return complain_usage(NULL, "there is no option '%s'", name);
    return run_command(name, argc - 1, argv + 1);
}
