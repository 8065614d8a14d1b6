/* SPDX-License-Identifier: MIT */
#include "cli/pages/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "hangdog/hangdog.h"

static const char *escaped(char c) {
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    case '"':
        return "\\(dq";
    default:
        return NULL;
    }
}

void roff_text(FILE *out, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        const char *instead = escaped(text[i]);
        if (text[i] == '.' && (i == 0 || text[i - 1] == '\n')) {
            fputs("\\&", out); /* else it is a request */
        }
        if (instead != NULL) {
            fputs(instead, out);
        } else {
            fputc(text[i], out);
        }
    }
}

void roff_string(FILE *out, const char *text) {
    roff_text(out, text, strlen(text));
}

void roff_sentence(FILE *out, const char *text) {
    size_t n = strlen(text), word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    bool is_name = text[word] != '\0' && strchr("/._=", text[word]) != NULL; /* docs/export.md */
    char first = is_name ? text[0] : (char)toupper((unsigned char)text[0]);
    roff_text(out, &first, 1);
    if (n > 1) {
        roff_string(out, text + 1);
    }
    fputs(n > 0 && strchr(".:?", text[n - 1]) != NULL ? "\n" : ".\n", out);
}

void roff_title(FILE *out, const char *name, int section) {
    fputs(".\\\" Written from the tables of the commands: change those.\n.TH \"", out);
    for (; *name != '\0'; name++) {
        char c = (char)toupper((unsigned char)*name);
        roff_text(out, &c, 1);
    }
    fprintf(out, "\" %d \"\" \"hangdog %s\" \"Hangdog\"\n", section, HANGDOG_VERSION);
}
