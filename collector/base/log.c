/* SPDX-License-Identifier: MIT */
#include "collector/base/log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 1024
#define TEXT_BYTES 400
#define KEY_HEAD 4 /* "hds_" */

static enum log_form the_form;

void log_set(enum log_form form) {
    the_form = form;
}

/* "hds_", "hdr_", "hda_": a key starts here. */
static bool is_key(const char *text) {
    return text[0] == 'h' && text[1] == 'd' && text[2] != '\0' && strchr("sra", text[2]) != NULL &&
           text[3] == '_';
}

void log_quote(const char *text, char *out, size_t size) {
    size_t n = 0;
    out[n++] = '"';
    while (*text != '\0' && n + 10 < size) { /* the longest step, the quote and the zero */
        unsigned char c = (unsigned char)*text;
        if (is_key(text)) {
            memcpy(out + n, text, KEY_HEAD);
            out[n + KEY_HEAD] = '*';
            n += KEY_HEAD + 1;
            for (text += KEY_HEAD; isalnum((unsigned char)*text); text++) {
            }
            continue;
        }
        if (c == '"' || c == '\\') {
            out[n++] = '\\';
            out[n++] = (char)c;
        } else if (c < ' ' || c >= 0x7f) { /* no byte that a terminal or a reader of UTF-8 would trip over */
            n += (size_t)snprintf(out + n, size - n, "\\u%04x", (unsigned)c);
        } else {
            out[n++] = (char)c;
        }
        text++;
    }
    out[n++] = '"';
    out[n] = '\0';
}

static void time_text(char out[32]) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* One call for a line: lines of several threads do not mix. */
static void write_line(const char *line, int length) {
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) {
        return; /* stderr is closed: no other place takes errors */
    }
}

void log_request(const struct log_request *r) {
    char line[LINE_BYTES], when[32], method[64], path[TEXT_BYTES];
    if (the_form == LOG_OFF) {
        return;
    }
    time_text(when);
    log_quote(r->method, method, sizeof method);
    log_quote(r->path, path, sizeof path);
    const char *format =
        the_form == LOG_JSON
            ? "{\"time\":\"%s\",\"event\":\"request\",\"address\":\"%s\",\"method\":%s,\"path\":%s,\"status\":%u,"
              "\"bytes\":%zu,\"reports\":%zu,\"key\":%lld,\"us\":%lld}\n"
            : "time=%s event=request address=%s method=%s path=%s status=%u bytes=%zu reports=%zu key=%lld us=%lld\n";
    write_line(line, snprintf(line, sizeof line, format, when, r->address, method, path, r->status, r->bytes,
                              r->reports, (long long)r->key, (long long)(r->took_ns / 1000)));
}

void log_event(const char *event, const char *format, ...) {
    char line[LINE_BYTES], when[32], text[TEXT_BYTES], quoted[2 * TEXT_BYTES];
    va_list arguments;
    if (the_form == LOG_OFF) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    time_text(when);
    log_quote(text, quoted, sizeof quoted);
    write_line(line, snprintf(line, sizeof line,
                              the_form == LOG_JSON ? "{\"time\":\"%s\",\"event\":\"%s\",\"message\":%s}\n"
                                                   : "time=%s event=%s message=%s\n",
                              when, event, quoted));
}
