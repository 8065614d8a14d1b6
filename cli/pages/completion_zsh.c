/* SPDX-License-Identifier: MIT */
#include "cli/pages/completion.h"

static const char script[] = "_hangdog_ask() {\n"
                             "    local -a words\n"
                             "    words=(${${(f)\"$(hangdog __complete $1 2>/dev/null)\"}//:/\\\\:})\n"
                             "    words=(${words/$'\\t'/:})\n"
                             "    _describe $1 words\n"
                             "}\n"
                             "_hangdog_apps() { _hangdog_ask apps }\n"
                             "_hangdog_processes() { _hangdog_ask processes }\n"
                             "_hangdog_reports() { _hangdog_ask reports || _files -g '*.json' }\n"
                             "\n"
                             "_hangdog \"$@\"\n";

/* In a specification of _arguments, between single quotes. */
static void put(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", out);
        } else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\') {
            fprintf(out, "\\%c", *text);
        } else {
            fputc(*text, out);
        }
    }
}

/* Writes the text after the last colon of a specification. */
static void put_action(FILE *out, enum completion what, const char *words) {
    const char *asks = completion_asks_for(what);
    if (words != NULL) {
        fputc('(', out);
        for (; *words != '\0'; words++) {
            fputc(*words == '|' ? ' ' : *words, out);
        }
        fputc(')', out);
    } else if (asks != NULL) {
        fprintf(out, "_hangdog_%s", asks);
    } else if (what == COMPLETE_FOLDER) {
        fputs("_files -/", out);
    } else if (what == COMPLETE_FILE) {
        fputs("_files", out);
    } else if (what == COMPLETE_PROGRAM) {
        fputs("_command_names -e", out);
    }
}

static void put_option(FILE *out, const struct command_option *o, const char *dashes, const char *name) {
    fprintf(out, "            '%s%s%s%s[", o->kind == OPTION_LIST ? "*" : "", dashes, name,
            o->kind == OPTION_FLAG ? ""
            : o->optional          ? "=-"
            : dashes[1] == '-'     ? "="
                                   : "+");
    put(out, o->help);
    fputc(']', out);
    if (o->kind != OPTION_FLAG) {
        fputs(o->optional ? "::" : ":", out);
        put(out, o->value);
        fputc(':', out);
        put_action(out, o->completion, o->words);
    }
    fputs("' \\\n", out);
}

static void put_options(FILE *out, const struct command_option *options) {
    for (const struct command_option *o = options; o != NULL && o->name != NULL; o++) {
        char letter[] = {o->letter, '\0'};
        put_option(out, o, "--", o->name);
        if (o->letter != '\0') {
            put_option(out, o, "-", letter);
        }
    }
}

static void put_operand(FILE *out, const struct command *c) {
    if (c->operand == COMPLETE_PROGRAM) {
        fputs("            '(-)1:program:_command_names -e' '*::argument:_normal'", out);
    } else if (c->operand != COMPLETE_NOTHING) {
        fputs("            '1:", out);
        put(out, c->usage);
        fputc(':', out);
        put_action(out, c->operand, NULL);
        fputs("'", out);
    } else {
        fputs("            && return", out);
    }
    fputs(" ;;\n", out);
}

void completion_write_zsh(FILE *out, const struct command *all) {
    fputs("#compdef hangdog\n# Written from the tables of the commands: change those.\n\n"
          "_hangdog() {\n"
          "    local curcontext=\"$curcontext\" state line\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            fprintf(out, "        '%s:", (*c)->name);
            put(out, (*c)->about);
            fputs("'\n", out);
        }
    }
    fputs("    )\n    _arguments -C \\\n", out);
    put_options(out, all->options);
    put_options(out, options_common);
    fputs("            '1:command:->command' '*::argument:->argument'\n"
          "    case $state in\n"
          "    command) _describe command commands ;;\n"
          "    argument)\n"
          "        case $words[1] in\n",
          out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            /* -S: "--" ends the options; -A: so does the first operand, where the rest is a program's. */
            fprintf(out, "        %s) _arguments -s -S%s \\\n", (*c)->name, (*c)->stops ? " -A '-*'" : "");
            put_options(out, (*c)->options);
            put_options(out, options_common);
            put_operand(out, *c);
        }
    }
    fputs("        esac ;;\n    esac\n}\n\n", out);
    fputs(script, out);
}
