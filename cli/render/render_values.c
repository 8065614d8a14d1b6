/* SPDX-License-Identifier: MIT
 *
 * Durations, times and texts for a person. Ordinary code.
 */
#include "cli/base/json_text.h"
#include "cli/base/shell_quote.h"
#include "cli/base/terminal.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MIN (60 * NS_PER_S)
#define ID_END_CHARS 6

/* How many units, rounded. A report may claim the longest duration: nothing is added to it. */
static int64_t nearest(int64_t ns, int64_t unit) {
    return ns / unit + (ns % unit >= unit / 2);
}

const char *render_duration(char text[RENDER_DURATION_BYTES], int64_t ns) {
    if (ns >= 60 * NS_PER_MIN - NS_PER_S / 2) {
        int64_t minutes = nearest(ns, NS_PER_MIN);
        snprintf(text, RENDER_DURATION_BYTES, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    } else if (ns >= 100 * NS_PER_S - NS_PER_S / 20) {
        int64_t seconds = nearest(ns, NS_PER_S);
        snprintf(text, RENDER_DURATION_BYTES, "%" PRId64 " min %02" PRId64 " s", seconds / 60, seconds % 60);
    } else if (ns >= 999500000) {
        snprintf(text, RENDER_DURATION_BYTES, "%.1f s", (double)ns / 1e9);
    } else if (ns >= 1000000) {
        snprintf(text, RENDER_DURATION_BYTES, "%.0f ms", (double)ns / 1e6);
    } else {
        snprintf(text, RENDER_DURATION_BYTES, "%.0f us", (double)ns / 1e3);
    }
    return text;
}

static const char *local_time(char text[RENDER_TIME_BYTES], const char *rfc3339, const char *format) {
    struct tm utc = {0}, local;
    snprintf(text, RENDER_TIME_BYTES, "%s", rfc3339 != NULL ? rfc3339 : "");
    if (rfc3339 == NULL || strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &utc) == NULL) {
        return text;
    }
    time_t when = timegm(&utc);
    if (localtime_r(&when, &local) != NULL) {
        strftime(text, RENDER_TIME_BYTES, format, &local);
    }
    return text;
}

const char *render_time(char text[RENDER_TIME_BYTES], const char *rfc3339) {
    return local_time(text, rfc3339, "%Y-%m-%d %H:%M:%S");
}

const char *render_clock(char text[RENDER_TIME_BYTES], const char *rfc3339) {
    return local_time(text, rfc3339, "%H:%M:%S");
}

bool render_wants_colour(FILE *out) {
    return terminal_wants_colour(fileno(out));
}

int render_width(FILE *out) {
    return isatty(fileno(out)) ? terminal_columns(fileno(out)) : 0;
}

const char *render_short_id(const char *id) {
    size_t n = strlen(id);
    return n > ID_END_CHARS ? id + n - ID_END_CHARS : id;
}

struct style render_style(bool colour) {
    if (!colour) {
        return (struct style){"", "", "", ""};
    }
    return (struct style){.bold = "\033[1m", .dim = "\033[2m", .alarm = "\033[1;31m", .end = "\033[0m"};
}

const char *value_text(const json_t *object, const char *name) {
    return json_text_or_null(object, name);
}

int64_t value_signed(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

int64_t value_int(const json_t *object, const char *name) {
    int64_t value = value_signed(object, name);
    return value > 0 ? value : 0;
}

int64_t value_sum(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void render_command(FILE *out, const struct page *p, const char *called, const char *id, const char *option) {
    char word[256] = "";
    if (id != NULL) {
        quote_word(word, sizeof word, render_short_id(id)); /* the report says it: it may be anything */
    }
    sanitize_print(out, shell_own_command());
    fputs(" show ", out);
    sanitize_print(out, called != NULL ? called : word);
    fputs(option, out);
    sanitize_print(out, p->options->spool_words);
}

/* ---- wrapping ------------------------------------------------------------------------------ */

void render_wrapped(const struct page *p, const char *style, const char *label, int indent,
                    const char *text) {
    int used = name_width(label);
    bool first = true;
    fprintf(p->out, "%s%s", style, label);
    for (size_t n; *text != 0; text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        char *word = strndup(text, n);
        int width = word != NULL ? name_width(word) : 0;
        if (!first && p->options->width > 0 && used + 1 + width > p->options->width) {
            fprintf(p->out, "\n%*s", indent, "");
            used = indent;
        } else if (!first) {
            fputc(' ', p->out);
            used++;
        }
        sanitize_print(p->out, word);
        used += width;
        first = false;
        free(word);
    }
    fprintf(p->out, "%s\n", style[0] != 0 ? p->style.end : "");
}
