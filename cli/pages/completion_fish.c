/* SPDX-License-Identifier: MIT */
#include "cli/pages/completion.h"

/* Between single quotes. */
static void put(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

static void put_query(FILE *out, const char *what) {
    fprintf(out, " -a '(hangdog __complete %s 2>/dev/null)'", what);
}

static void put_options(FILE *out, const char *condition, const struct command_option *options) {
    for (const struct command_option *o = options; o != NULL && o->name != NULL; o++) {
        const char *asks = completion_asks_for(o->completion);
        fprintf(out, "complete -c hangdog %s -l %s", condition, o->name);
        if (o->letter != '\0') {
            fprintf(out, " -s %c", o->letter);
        }
        fputs(" -d '", out);
        put(out, o->help);
        fputc('\'', out);
        if (o->words != NULL) {
            fputs(" -x -a '", out);
            for (const char *w = o->words; *w != '\0'; w++) {
                fputc(*w == '|' ? ' ' : *w, out);
            }
            fputc('\'', out);
        } else if (asks != NULL) {
            fputs(" -x", out);
            put_query(out, asks);
        } else if (o->completion == COMPLETE_FOLDER) {
            fputs(" -x -a '(__fish_complete_directories)'", out);
        } else if (o->kind != OPTION_FLAG && !o->optional) {
            fputs(o->completion == COMPLETE_FILE ? " -r" : " -x", out);
        }
        fputc('\n', out);
    }
}

void completion_write_fish(FILE *out, const struct command *all) {
    char condition[128];
    fputs("# fish completion of hangdog. Written from the tables of the commands: change those.\n"
          "complete -c hangdog -f\n",
          out);
    put_options(out, "-n __fish_use_subcommand", all->options);
    put_options(out, "", options_common);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        const char *asks = completion_asks_for((*c)->operand);
        if ((*c)->group == NULL) {
            continue;
        }
        fprintf(out, "complete -c hangdog -n __fish_use_subcommand -a %s -d '", (*c)->name);
        put(out, (*c)->about);
        fputs("'\n", out);
        snprintf(condition, sizeof condition, "-n '__fish_seen_subcommand_from %s'", (*c)->name);
        put_options(out, condition, (*c)->options);
        if (asks != NULL) {
            fprintf(out, "complete -c hangdog %s", condition);
            put_query(out, asks);
            fputc('\n', out);
        }
        if ((*c)->operand == COMPLETE_REPORT || (*c)->operand == COMPLETE_FILE) {
            fprintf(out, "complete -c hangdog %s -F\n", condition);
        }
        if ((*c)->operand == COMPLETE_PROGRAM) {
            fprintf(out, "complete -c hangdog %s -xa '(__fish_complete_subcommand --fcs-skip=2)'\n",
                    condition);
        }
    }
}
