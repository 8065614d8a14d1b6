/* SPDX-License-Identifier: MIT */
#include "cli/pages/completion.h"

#include <string.h>

/* The part that does not depend on the option tables. $1 of the two functions above it is the command, $2 the
 * option. */
static const char script[] =
    "# Offers words that start with $cur. A line of stdin: word, tabulator, description. With several words the\n"
    "# description is shown behind each one.\n"
    "_hangdog_offer() {\n"
    "    local word text words=() texts=()\n"
    "    while IFS=$'\\t' read -r word text; do\n"
    "        if [[ $word == \"$cur\"* ]]; then\n"
    "            words+=(\"$word\")\n"
    "            texts+=(\"$word${text:+  ($text)}\")\n"
    "        fi\n"
    "    done\n"
    "    if ((${#words[@]} == 1)); then\n"
    "        COMPREPLY=(\"${words[0]}\")\n"
    "    else\n"
    "        COMPREPLY=(\"${texts[@]}\")\n"
    "    fi\n"
    "}\n"
    "\n"
    "# $1: what _hangdog_value and _hangdog_operand say.\n"
    "_hangdog_words() {\n"
    "    case $1 in\n"
    "    commands) COMPREPLY=($(compgen -W \"$(_hangdog_commands)\" -- \"$cur\")) ;;\n"
    "    words) COMPREPLY=($(compgen -W \"$2\" -- \"$cur\")) ;;\n"
    "    folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "    program) mapfile -t COMPREPLY < <({ compgen -c -- \"$cur\"; [[ $cur != */* ]] || compgen -f -- \"$cur\"; } | "
    "sort -u) ;;\n"
    "    apps|processes) _hangdog_offer < <(\"${COMP_WORDS[0]}\" __complete $1 2>/dev/null) ;;\n"
    "    reports)\n"
    "        _hangdog_offer < <(\"${COMP_WORDS[0]}\" __complete reports 2>/dev/null)\n"
    "        if ((${#COMPREPLY[@]} == 0)); then _hangdog_words file; fi ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_hangdog() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} command= option= word i program= kind words\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == = ]]; then\n"
    "            option=${COMP_WORDS[i-1]} # --name=value: three words of bash's\n"
    "            if ((i + 1 < COMP_CWORD)); then i=$((i + 1)); option=; fi\n"
    "        elif [[ $word == -- ]]; then\n"
    "            program=$((i + 1))\n"
    "            break\n"
    "        elif [[ $word == -* ]]; then\n"
    "            option=\n"
    "            if [[ -n $(_hangdog_value \"$command\" \"$word\") && ${COMP_WORDS[i+1]} != = ]]; then\n"
    "                option=$word\n"
    "                if ((i + 1 < COMP_CWORD)); then i=$((i + 1)); option=; fi\n"
    "            fi\n"
    "        elif [[ -z $command ]]; then\n"
    "            command=$word option=\n"
    "        elif [[ $(_hangdog_operand \"$command\") == program ]]; then\n"
    "            program=$i\n"
    "            break\n"
    "        fi\n"
    "    done\n"
    "    if [[ $cur == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD-1]} cur=\n"
    "    fi\n"
    "    if [[ -n $program ]]; then\n"
    "        if ((COMP_CWORD == program)); then _hangdog_words program; else _hangdog_words file; fi\n"
    "    elif [[ -n $option ]]; then\n"
    "        read -r kind words <<<\"$(_hangdog_value \"$command\" \"$option\"; _hangdog_value \"$command\" \"$option=\")\"\n"
    "        _hangdog_words \"$kind\" \"$words\"\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _hangdog_words words \"$(_hangdog_options \"$command\")\"\n"
    "    elif [[ -z $command ]]; then\n"
    "        _hangdog_words commands\n"
    "    else\n"
    "        _hangdog_words \"$(_hangdog_operand \"$command\")\"\n"
    "    fi\n"
    "}\n"
    "complete -F _hangdog hangdog\n";

static void put_options(FILE *out, const struct command_option *options) {
    for (const struct command_option *o = options; o != NULL && o->name != NULL; o++) {
        fprintf(out, " --%s", o->name);
        if (o->letter != '\0') {
            fprintf(out, " -%c", o->letter);
        }
    }
}

static const char *kind_of(enum completion what) {
    switch (what) {
    case COMPLETE_FILE:
        return "file";
    case COMPLETE_FOLDER:
        return "folder";
    case COMPLETE_PROGRAM:
        return "program";
    default:
        return completion_asks_for(what);
    }
}

/* "list/--cause) echo words cpu lock ;;": also of a value that no shell can offer anything for. */
static void put_values(FILE *out, const char *command, const struct command_option *options) {
    for (const struct command_option *o = options; o != NULL && o->name != NULL; o++) {
        if (o->kind == OPTION_FLAG) {
            continue;
        }
        fprintf(out, "    %s/--%s%s", command, o->name, o->optional ? "=" : "");
        if (o->letter != '\0') {
            fprintf(out, "|%s/-%c", command, o->letter);
        }
        fputs(") echo '", out);
        if (o->words != NULL) {
            fputs("words ", out);
            for (const char *w = o->words; *w != '\0'; w++) {
                fputc(*w == '|' ? ' ' : *w, out);
            }
        } else {
            fputs(kind_of(o->completion) != NULL ? kind_of(o->completion) : "nothing", out);
        }
        fputs("' ;;\n", out);
    }
}

void completion_write_bash(FILE *out, const struct command *all) {
    fputs("# bash completion of hangdog. Written from the tables of the commands: change those.\n\n"
          "_hangdog_commands() {\n    echo '",
          out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        fprintf(out, "%s ", (*c)->group != NULL ? (*c)->name : "");
    }
    fputs("help'\n}\n\n_hangdog_options() {\n    case $1 in\n", out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            fprintf(out, "    %s) echo '", (*c)->name);
            put_options(out, (*c)->options);
            put_options(out, options_common);
            fputs("' ;;\n", out);
        }
    }
    fputs("    *) echo '", out);
    put_options(out, all->options);
    put_options(out, options_common);
    fputs("' ;;\n    esac\n}\n\n_hangdog_value() {\n    case $1/$2 in\n", out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            put_values(out, (*c)->name, (*c)->options);
        }
    }
    put_values(out, "", all->options);
    put_values(out, "*", options_common);
    fputs("    esac\n}\n\n_hangdog_operand() {\n    case $1 in\n", out);
    for (const struct command *const *c = all->commands; *c != NULL; c++) {
        if (kind_of((*c)->operand) != NULL) {
            fprintf(out, "    %s) echo %s ;;\n", (*c)->name, kind_of((*c)->operand));
        }
    }
    fputs("    help) echo commands ;;\n    esac\n}\n\n", out);
    fputs(script, out);
}
