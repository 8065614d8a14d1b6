/* SPDX-License-Identifier: MIT */
#include "cli/export/formats.h"

#include <string.h>

static const struct export_format formats[] = {
#define HD_WORD_FORMAT(id, word, label, suffix, type, flags, button, command, opens) \
    {word, export_##id, flags, (button) == 0, suffix, type},
#include "base/words.def"
};
#define FORMATS (sizeof formats / sizeof formats[0])

const char export_format_words[] =
#define HD_WORD_FORMAT(id, word, ...) "|" word
#include "base/words.def"
    ;

const struct export_format *export_format_of(const char *name) {
    for (size_t i = 0; name != NULL && i < FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return &formats[0];
}

const struct export_format *export_format_at(size_t index) {
    return index < FORMATS ? &formats[index] : NULL;
}

bool export_format_is_of_reports(const struct export_format *format) {
    return !format->of_spool;
}

bool export_format_can_send(const struct export_format *format) {
    return (format->flags & EXPORT_CAN_SEND) != 0;
}

const char *export_format_list(char *text, size_t size, bool (*fits)(const struct export_format *),
                               const char *last) {
    size_t left = 0, used = 0;
    for (size_t i = 0; i < FORMATS; i++) {
        left += fits(&formats[i]);
    }
    text[0] = '\0';
    for (size_t i = 0; i < FORMATS && used < size; i++) {
        if (fits(&formats[i])) {
            const char *before = used == 0 ? "" : left == 1 ? last : ", ";
            used += (size_t)snprintf(text + used, size - used, "%s%s", before, formats[i].name);
            left--;
        }
    }
    return text;
}
