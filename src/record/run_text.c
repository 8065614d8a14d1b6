/* SPDX-License-Identifier: MIT */
#include "record/run_text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const struct field {
    const char *name;
    uint32_t at, bytes;
    bool is_text;
} fields[] = {
#define FIELD(member, is_text)                                                                             \
    {                                                                                                      \
        #member, offsetof(struct hd_record_options, member), sizeof((struct hd_record_options){0}.member), \
            is_text                                                                                        \
    }
    FIELD(interval_ns, false),
    FIELD(threshold_ns, false),
    FIELD(launch_threshold_ns, false),
    FIELD(cpu_period_ns, false),
    FIELD(frame_drop_ns, false),
    FIELD(display_hz, false),
    FIELD(reports_per_day, false),
    FIELD(reports_per_fingerprint, false),
    FIELD(crash, false),
    FIELD(without_paths, false),
    FIELD(app_name, true),
    FIELD(app_version, true),
    FIELD(environment, true),
    FIELD(spool, true),
#undef FIELD
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* The length of the beginning of `text` without the characters `a` and `b`. */
static size_t length_before(const char *text, char a, char b) {
    size_t n = 0;
    while (text[n] != '\0' && text[n] != a && text[n] != b) {
        n++;
    }
    return n;
}

static uint64_t number_of(const struct hd_record_options *o, const struct field *f) {
    const uint8_t *at = (const uint8_t *)o + f->at;
    uint64_t wide;
    uint32_t narrow;
    if (f->bytes == 1) {
        return *at != 0;
    }
    memcpy(&narrow, at, sizeof narrow);
    if (f->bytes == sizeof narrow) {
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

static int set_number(struct hd_record_options *o, const struct field *f, uint64_t value) {
    uint8_t *at = (uint8_t *)o + f->at;
    uint32_t narrow = (uint32_t)value;
    if ((f->bytes == 1 && value > 1) || (f->bytes == sizeof narrow && narrow != value)) {
        return -EINVAL;
    }
    if (f->bytes == 1) {
        *(bool *)at = value != 0;
    } else if (f->bytes == sizeof narrow) {
        memcpy(at, &narrow, sizeof narrow);
    } else {
        memcpy(at, &value, sizeof value);
    }
    return 0;
}

int hd_run_text_write(const struct hd_record_options *o, char *text, size_t size) {
    struct hd_text t;
    hd_text_init(&t, text, size);
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const char *string = (const char *)o + f->at;
        if (f->is_text &&
            (memchr(string, '\0', f->bytes) == NULL || string[length_before(string, '\n', '\n')] != '\0')) {
            return -EINVAL;
        }
        hd_text_str(&t, f->name);
        hd_text_str(&t, "=");
        if (f->is_text) {
            hd_text_str(&t, string);
        } else {
            hd_text_u64(&t, number_of(o, f));
        }
        hd_text_str(&t, "\n");
    }
    return t.used < size - 1 ? 0 : -ENAMETOOLONG; /* a full buffer may have a truncated line */
}

static int take_number(struct hd_record_options *o, const struct field *f, const char *digits, size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned)(digits[i] - '0');
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return -EINVAL;
        }
        value = value * 10 + digit;
    }
    return n > 0 ? set_number(o, f, value) : -EINVAL;
}

static int take(struct hd_record_options *o, const struct field *f, const char *value, size_t n) {
    if (!f->is_text) {
        return take_number(o, f, value, n);
    }
    if (n >= f->bytes) {
        return -ENAMETOOLONG;
    }
    char *to = (char *)o + f->at;
    memcpy(to, value, n);
    to[n] = '\0';
    return 0;
}

int hd_run_text_read(struct hd_record_options *o, const char *text) {
    while (*text != '\0') {
        size_t line = length_before(text, '\n', '\n'), name = length_before(text, '=', '\n');
        int rc = text[name] == '=' ? 0 : -EINVAL;
        for (size_t i = 0; rc == 0 && i < FIELDS; i++) {
            if (strlen(fields[i].name) == name && memcmp(fields[i].name, text, name) == 0) {
                rc = take(o, &fields[i], text + name + 1, line - name - 1);
            }
        }
        if (rc != 0) {
            return rc;
        }
        text += line + (text[line] != '\0');
    }
    return 0;
}
