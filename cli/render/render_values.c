/* SPDX-License-Identifier: MIT
 *
 * Durations, times and texts for a person. Ordinary code.
 */
#include "cli/base/shell_quote.h"
#include "cli/base/terminal.h"
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *render_duration(char text[RENDER_DURATION_BYTES], int64_t ns) {
    if (ns >= 3600 * INT64_C(1000000000))
        snprintf(text, RENDER_DURATION_BYTES, "%" PRId64 " h %" PRId64 " min", ns / 3600 / 1000000000,
                 ns / 60 / 1000000000 % 60);
    else if (ns >= 999500000)
        snprintf(text, RENDER_DURATION_BYTES, "%.3f s", (double)ns / 1e9);
    else if (ns >= 1000000)
        snprintf(text, RENDER_DURATION_BYTES, "%.0f ms", (double)ns / 1e6);
    else
        snprintf(text, RENDER_DURATION_BYTES, "%.0f us", (double)ns / 1e3);
    return text;
}

const char *render_time(char text[RENDER_TIME_BYTES], const char *rfc3339) {
    struct tm utc = {0}, local;
    snprintf(text, RENDER_TIME_BYTES, "%s", rfc3339 != NULL ? rfc3339 : "");
    if (rfc3339 == NULL || strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &utc) == NULL)
        return text;
    time_t when = timegm(&utc);
    if (localtime_r(&when, &local) != NULL)
        strftime(text, RENDER_TIME_BYTES, "%Y-%m-%d %H:%M:%S", &local);
    return text;
}

bool render_wants_colour(FILE *out) {
    return terminal_wants_colour(fileno(out));
}

struct style render_style(bool colour) {
    if (!colour)
        return (struct style){"", "", "", ""};
    return (struct style){.bold = "\033[1m", .dim = "\033[2m", .alarm = "\033[1;31m", .end = "\033[0m"};
}

const char *member_text(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

int64_t member_int(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

void render_command(const struct page *p, const char *called, const char *id, const char *option) {
    char word[256] = "";
    if (id != NULL)
        quote_word(word, sizeof word, id); /* the report says it: it may be anything */
    render_text(p->out, own_command());
    fputs(" show ", p->out);
    render_text(p->out, called != NULL ? called : word);
    fputs(option, p->out);
    render_text(p->out, p->options->spool_words);
}
