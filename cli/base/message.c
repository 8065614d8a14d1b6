/* SPDX-License-Identifier: MIT */
#include "cli/base/message.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/terminal.h"

#define HEAD "hangdog:"
#define INDENT "  "
#define END "\033[0m"
#define PART_BYTES 4096

struct writer {
    FILE *out;
    bool terminal, colour;
    bool coloured;          /* the line that is written is */
    size_t columns, column; /* of the terminal, of that line */
};

static void new_line(struct writer *w) {
    fputs(w->coloured ? END "\n" INDENT : "\n" INDENT, w->out);
    w->coloured = false;
    w->column = 0;
}

static size_t columns_of(const char *text, size_t bytes) {
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

static void put_words(struct writer *w, const char *text) {
    for (size_t n; *(text += strspn(text, " ")) != '\0'; text += n) {
        n = strcspn(text, " ");
        size_t width = columns_of(text, n);
        if (w->terminal && w->column > 0 && sizeof INDENT - 1 + w->column + 1 + width > w->columns) {
            new_line(w);
        }
        fputs(w->column > 0 ? " " : "", w->out);
        w->column += (w->column > 0) + width;
        fwrite(text, 1, n, w->out);
    }
}

static void put_part(struct writer *w, const struct message_part *part, bool first) {
    char text[PART_BYTES], command[PART_BYTES];
    snprintf(text, sizeof text, "%s", part->text);
    snprintf(command, sizeof command, "%s", part->command != NULL ? part->command : "");
    sanitize_text(text);
    sanitize_text(command);
    if (!first && w->terminal) {
        new_line(w);
    } else if (!first) {
        fputc(';', w->out);
    }
    put_words(w, text);
    if (command[0] != '\0' && w->terminal) {
        new_line(w);
        fprintf(w->out, "%s%s%s", w->colour ? MESSAGE_BOLD : "", command, w->colour ? END : "");
    } else {
        put_words(w, command);
    }
}

char *message_text(const char *colour, const struct message_part *parts, size_t count, size_t *bytes) {
    char *text = NULL;
    struct writer w = {.out = open_memstream(&text, bytes),
                       .terminal = isatty(STDERR_FILENO) != 0,
                       .colour = terminal_wants_colour(STDERR_FILENO),
                       .columns = (size_t)terminal_columns(STDERR_FILENO)};
    if (w.out == NULL) {
        return NULL;
    }
    w.coloured = w.colour && colour[0] != '\0';
    fprintf(w.out, "%s" HEAD, w.coloured ? colour : "");
    w.column = sizeof HEAD - 1 - (sizeof INDENT - 1); /* the first line has no indent */
    for (size_t i = 0; i < count; i++) {
        put_part(&w, &parts[i], i == 0);
    }
    fputs(w.coloured ? END "\n" : "\n", w.out);
    if (fclose(w.out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

void message_print(const char *colour, const struct message_part *parts, size_t count) {
    size_t bytes;
    char *text = message_text(colour, parts, count, &bytes);
    if (text != NULL) {
        output_write(text, bytes);
    }
    free(text);
}
