/* SPDX-License-Identifier: MIT
 *
 * A command and its options as one table. Parsing, --help, the man pages and the completions read it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LIST_MAX 16
#define EXAMPLES_MAX 6

/* The values of an option that the user may give several times. */
struct text_list {
    const char *text[TEXT_LIST_MAX];
    size_t count;
};

/* The member of the command's options that gets the value. */
enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_TEXT,     /* const char * */
    OPTION_LIST,     /* struct text_list */
    OPTION_COUNT,    /* long */
    OPTION_DURATION, /* int64_t, nanoseconds; without a unit milliseconds, as older releases took them */
};

/* The completions that a shell offers for a value or an operand. */
enum completion {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_APP,     /* of the spools */
    COMPLETE_REPORT,  /* ends of ids, `latest`, files */
    COMPLETE_PROCESS, /* watched pids */
    COMPLETE_RUNNING, /* pids of the other programs that the user may read */
    COMPLETE_PROGRAM, /* a command and its arguments */
};

struct command_option {
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    size_t to;         /* offset in the command's options */
    const char *value; /* the help's word for it; NULL for a flag */
    bool listed;       /* the help lists `words` below the option */
    bool rare;         /* only the man page and the completions have it: the help fits a terminal */
    bool optional;     /* of a text: only "=VALUE" gives one, else it is empty */
    const char *help;  /* one line */
    const char *more;  /* of the man page: sentences after the help line, or NULL */
    const char *group; /* heading in the help; an option without one is in the group before it */
    const char *alias; /* old name, valid for one release; NULL: none */
    int64_t min, max;  /* of a count or a duration */
    const char *words; /* the values that it takes, "a|b|c"; NULL: any */
    enum completion completion;
};

struct command {
    const char *name;
    const char *group; /* heading in the help of all commands; NULL: not for users */
    const char *about; /* one sentence without a stop */
    const char *usage; /* text after the command's name */
    struct {
        const char *arguments, *what; /* "hangdog " stands before the arguments */
    } example[EXAMPLES_MAX];
    const char *description; /* of the man page: paragraphs, each ends with an empty line */
    const char *exit_status; /* of the man page: "0\tdone\n1\tfailed\n"; NULL: the same as most commands */
    const char *environment; /* of the man page, in this form: the command's own variables; NULL: none */
    bool no_spool;           /* the command uses no report, and no variable of the spool */
    struct {
        const char *option, *command; /* an option that a user may expect, and the command that has it */
        const char *lacks;            /* or why this build lacks the option; the command builds one with it */
    } instead[2];
    bool stops;    /* at the first operand: the rest is another program's */
    bool deep;     /* needs a deep stack: it looks symbols up */
    int wrong_use; /* exit status of a wrong use; 0: 2 */
    enum completion operand;
    const struct command_option *options;  /* the last one has no name; NULL: none */
    const struct command *const *commands; /* of hangdog itself: all, in the order of the help; else NULL */
    int (*run)(int argc, char **argv);     /* argv[0] is the command's name; returns the exit status */
};

/* Valid for each command: --help, --version, --color, --quiet. The last one has no name. */
extern const struct command_option options_common[];

/* Fills `to` from argv. The index of the first operand in argv, which is sorted for it. -1: the command ends
 * with *status; help was printed, or an error. */
int options_parse(const struct command *c, void *to, int argc, char **argv, int *status);

/* --quiet was given: print errors only. */
bool options_quiet(void);

/* "hangdog: TEXT" and the command for the help. The exit status of a wrong use. */
int options_wrong_use(const struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
