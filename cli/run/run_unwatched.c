/* SPDX-License-Identifier: MIT */
#include "cli/run/run_unwatched.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/shell_quote.h"
#include "cli/base/signal_state.h"
#include "cli/reporter/json_file.h"
#include "cli/run/program_check.h"

#define WORD_BYTES 1024

/* The program that runs a script of this name; NULL: not known. */
static const char *interpreter_of(const char *file) {
    static const char *const known[][2] = {
        {".py", "python3"}, {".js", "node"}, {".mjs", "node"}, {".cjs", "node"}, {".sh", "sh"}};
    const char *end = strrchr(file, '.');
    for (size_t i = 0; end != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(end, known[i][0]) == 0) {
            return known[i][1];
        }
    }
    return NULL;
}

int run_not_started(const struct run_options *o, int rc) {
    const char *program = o->program[0], *interpreter = interpreter_of(program);
    bool by_name = strchr(program, '/') == NULL;
    char word[WORD_BYTES];
    struct problem why;
    quote_word(word, sizeof word, program);
    if (rc == -ENOENT && program_lacks(program, &why)) {
        return print_error("cannot run '%.500s': %s", program, why.text), EXIT_NOT_FOUND;
    }
    error_set(&why, "cannot run '%.500s': %s", program,
              rc == -ENOENT && by_name                          ? "not found in PATH"
              : rc == -EACCES && access(program, F_OK) != 0     ? strerror(EACCES)
              : rc == -EACCES && program_begins_as_one(program) ? "not executable"
              : rc == -EACCES                                   ? "it is no program"
                                                                : strerror(-rc));
    if (rc == -ENOENT && by_name && access(program, X_OK) == 0) {
        error_try(&why, "%s run ./%s", shell_own_command(), word);
    } else if (interpreter != NULL && access(program, R_OK) == 0 &&
               !(rc == -EACCES && program_begins_as_one(program))) {
        error_try(&why, "%.500s run %s %s", shell_own_command(), interpreter, word);
    } else if (rc == -ENOENT) {
        json_file_suggest(&why, o->json, "run", program);
    } else if (rc == -EACCES && program_begins_as_one(program)) {
        error_try(&why, "chmod +x %s", word);
    }
    error_print(&why);
    return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void print_unwatched(const struct run_options *o, const struct problem *why) {
    char text[2 * WORD_BYTES], command[WORD_BYTES];
    struct problem all;
    bool outside = strcmp(why->command, PROGRAM_ATTACH) == 0;
    if (why->command[0] != '\0' && !outside) {
        error_set(&all, "cannot watch %.300s: %.1500s; it runs unwatched", o->program[0], why->text);
        error_try(&all, "%.1000s", why->command);
        error_print(&all);
        return;
    }
    snprintf(text, sizeof text, "cannot watch %.300s: %.1500s; it runs unwatched. %s:", o->program[0],
             why->text, outside ? "To watch it from outside" : "Its stacks while it hangs");
    snprintf(command, sizeof command, "%.500s %s %d", shell_own_command(), outside ? "attach" : "dump",
             (int)getpid());
    message_print(MESSAGE_WARNING, &(struct message_part){text, command}, 1);
}

/* No memory of ours is left but what exec takes. */
int run_unwatched(const struct run_options *o, const struct problem *why) {
    if (!o->quiet) {
        print_unwatched(o, why);
    }
    fflush(NULL);
    signal_state_restore();
    execvp(o->program[0], o->program);
    return run_not_started(o, -errno);
}

/* A command that raises the limit; NULL: none does. */
static const char *limit_command(int rc) {
    switch (-rc) {
    case EMFILE:
        return "ulimit -n 64";
    case EFBIG:
        return "ulimit -f unlimited";
    case EAGAIN:
        return "ulimit -u unlimited";
    default:
        return NULL;
    }
}

int run_unwatched_for(const struct run_options *o, int rc) {
    struct problem why;
    const char *command = limit_command(rc);
    bool full = rc == -ENOSPC || rc == -EDQUOT;
    error_set(&why, "%s%s", strerror(-rc), rc == -EAGAIN ? " (too many processes)" : "");
    if (command != NULL) {
        error_try(&why, "%s", command);
    } else if (full || o->exec) { /* with --exec the record is a file in the spool */
        error_try(&why, "%.500s run --spool DIR", shell_own_command());
    } else if (rc != -ENFILE && rc != -ENOMEM) {
        error_set(&why, "%s; its seccomp filter may forbid memfd_create, signalfd or fork", strerror(-rc));
    }
    return run_unwatched(o, &why);
}
