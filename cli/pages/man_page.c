/* SPDX-License-Identifier: MIT */
#include "cli/pages/man_page.h"

#include <ctype.h>
#include <string.h>

#include "cli/pages/roff.h"

#define NAME_BYTES 64

/* A word in bold or italics. */
static void put(FILE *out, char font, const char *text) {
    fprintf(out, "\\f%c", font);
    roff_string(out, text);
    fputs("\\fR", out);
}

static const char *page_name(const struct command *c, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "hangdog%s%s", c->name[0] != '\0' ? "-" : "", c->name);
    return name;
}

/* The first letter of a sentence becomes small: "name \- what it does". */
static void write_name(FILE *out, const struct command *c) {
    char name[NAME_BYTES], first = (char)tolower((unsigned char)c->about[0]);
    fputs(".SH NAME\n", out);
    roff_string(out, page_name(c, name));
    fputs(" \\- ", out);
    roff_text(out, &first, 1);
    roff_string(out, c->about + 1);
    fputc('\n', out);
}

static void write_examples(FILE *out, const struct command *c) {
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; i < EXAMPLES_MAX && c->example[i].arguments != NULL; i++) {
        fputs(".TP\n\\fBhangdog ", out);
        roff_string(out, c->example[i].arguments);
        fputs("\\fR\n", out);
        roff_sentence(out, c->example[i].what);
    }
}

static void write_synopsis(FILE *out, const struct command *c) {
    fputs(".SH SYNOPSIS\n\\fBhangdog", out);
    if (c->name[0] != '\0') {
        fputc(' ', out);
        roff_string(out, c->name);
    }
    fputs("\\fR ", out);
    roff_string(out, c->usage);
    fputc('\n', out);
}

/* Paragraphs end with an empty line. */
static void write_description(FILE *out, const struct command *c) {
    fputs(".SH DESCRIPTION\n", out);
    if (c->description == NULL) {
        roff_sentence(out, c->about);
    }
    for (const char *at = c->description; at != NULL && *at != '\0';) {
        const char *end = strstr(at, "\n\n");
        size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
        fputs(at == c->description ? "" : ".PP\n", out);
        roff_text(out, at, n);
        fputc('\n', out);
        at += n + (end != NULL ? 2 : 0);
    }
}

static void write_option(FILE *out, const struct command_option *o) {
    char letter[] = {'-', o->letter, '\0'}, name[NAME_BYTES];
    fputs(".TP\n", out);
    if (o->letter != '\0') {
        put(out, 'B', letter);
        fputs(", ", out);
    }
    snprintf(name, sizeof name, "--%s", o->name);
    put(out, 'B', name);
    if (o->value != NULL) {
        fputs(o->optional ? "[=" : " ", out);
        put(out, 'I', o->value);
        fputs(o->optional ? "]" : "", out);
    }
    fputc('\n', out);
    roff_sentence(out, o->help);
    if (o->words != NULL) {
        fputs(o->listed ? "" : "One of ", out);
        for (const char *w = o->words; *w != '\0'; w++) {
            if (*w == '|') {
                fputs(", ", out);
            } else {
                roff_text(out, w, 1);
            }
        }
        fputs(".\n", out);
    }
    if (o->more != NULL) {
        roff_sentence(out, o->more);
    }
    if (o->alias != NULL) {
        fputs("The old name is ", out);
        snprintf(name, sizeof name, "--%s", o->alias);
        put(out, 'B', name);
        fputs(".\n", out);
    }
}

static void write_options(FILE *out, const struct command *c) {
    fputs(".SH OPTIONS\n", out);
    for (const struct command_option *o = c->options; o != NULL && o->name != NULL; o++) {
        if (o->group != NULL) {
            fputs(".SS ", out);
            roff_string(out, o->group);
            fputc('\n', out);
        }
        write_option(out, o);
    }
    fputs(".SS Of each command\n", out);
    for (const struct command_option *o = options_common; o->name != NULL; o++) {
        write_option(out, o);
    }
}

static void write_commands(FILE *out, const struct command *all) {
    fputs(".SH COMMANDS\n", out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            fputs(".TP\n\\fBhangdog\\-", out);
            roff_string(out, (*c)->name);
            fputs("\\fR(1)\n", out);
            roff_sentence(out, (*c)->about);
        }
    }
}

/* "WORD\tTEXT\n" lines as a list. */
static void write_lines(FILE *out, const char *lines) {
    while (*lines != '\0') {
        size_t word = strcspn(lines, "\t"), text = strcspn(lines + word, "\n");
        char line[512];
        fputs(".TP\n\\fB", out);
        roff_text(out, lines, word);
        fputs("\\fR\n", out);
        snprintf(line, sizeof line, "%.*s", (int)(text > 0 ? text - 1 : 0), lines + word + (text > 0));
        roff_sentence(out, line);
        lines += word + text;
        lines += *lines == '\n';
    }
}

static void write_see_also(FILE *out, const struct command *c, const struct command *all) {
    const char *between = "";
    fputs(".SH SEE ALSO\n", out);
    if (c != all) {
        fputs("\\fBhangdog\\fR(1)", out);
        between = ",\n";
    }
    for (const struct command *const *other = all->commands; *other != NULL; other++) {
        if (*other != c && (*other)->group != NULL) {
            fprintf(out, "%s\\fBhangdog\\-%s\\fR(1)", between, (*other)->name);
            between = ",\n";
        }
    }
    fputs(",\n\\fBhangdog\\-report\\fR(5)\n", out);
}

void man_page_write(FILE *out, const struct command *c, const struct command *all) {
    static const char exit_status[] = "0\tdone, also where there is nothing to print\n"
                                      "1\tfailed, wholly or partly\n"
                                      "2\twrong use\n";
    static const char of_spools[] =
        "XDG_STATE_HOME\tthe default spool is hangdog/APP in this folder\n"
        "HOME\twithout XDG_STATE_HOME the default spool is .local/state/hangdog/APP in this folder\n"
        "STATE_DIRECTORY\tthe same for a service without HOME: systemd sets it\n"
        "DEBUGINFOD_URLS\tservers of debug information, for functions and lines\n";
    static const char of_all[] =
        "NO_COLOR\tnot empty: no colour\n"
        "CLICOLOR_FORCE\tnot empty, and NO_COLOR is not set: colour, also where there is no terminal\n"
        "COLUMNS\tthe width of the terminal\n";
    static const char files[] = "~/.local/state/hangdog/APP/ID.json\ta report: hangdog-report(5)\n";
    char name[NAME_BYTES];
    roff_title(out, page_name(c, name), 1);
    write_name(out, c);
    write_examples(out, c);
    write_synopsis(out, c);
    write_description(out, c);
    if (c == all) {
        write_commands(out, all);
    }
    write_options(out, c);
    fputs(".SH EXIT STATUS\n", out);
    write_lines(out, c->exit_status != NULL ? c->exit_status : exit_status);
    fputs(".SH ENVIRONMENT\n", out);
    write_lines(out, c->environment != NULL ? c->environment : "");
    write_lines(out, c->no_spool ? "" : of_spools);
    write_lines(out, of_all);
    if (!c->no_spool) {
        fputs(".SH FILES\n", out);
        write_lines(out, files);
    }
    write_see_also(out, c, all);
}
