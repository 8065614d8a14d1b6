/* SPDX-License-Identifier: MIT */
#include "collector/http/http_params.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fault(struct http_params *p, const char *name, const char *why) {
    if (p->why[0] == '\0') {
        snprintf(p->why, sizeof p->why, "%s: %s", name, why);
    }
}

static bool is_plain_text(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            return false;
        }
    }
    json_t *checked = json_stringn(text, bytes); /* fails for text that is not UTF-8 */
    json_decref(checked);
    return checked != NULL;
}

const char *http_param_text(struct http_params *p, const char *name) {
    const char *text = NULL;
    size_t bytes = 0;
    if (MHD_lookup_connection_value_n(p->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &text,
                                      &bytes) != MHD_YES ||
        text == NULL) {
        return "";
    }
    if (bytes > PARAMS_TEXT_MAX) {
        fault(p, name, "is longer than 200 bytes");
    } else if (!is_plain_text(text, bytes)) {
        fault(p, name, "is no text in UTF-8, or has control characters");
    } else {
        return text;
    }
    return "";
}

int http_param_word(struct http_params *p, const char *name, int usual, const char *const words[]) {
    char why[120] = "want ";
    const char *text = http_param_text(p, name);
    if (text[0] == '\0') {
        return usual;
    }
    size_t used = strlen(why);
    for (int i = 0; words[i] != NULL && used < sizeof why; i++) {
        if (strcmp(words[i], text) == 0) {
            return i;
        }
        used += (size_t)snprintf(why + used, sizeof why - used, "%s%s",
                                 i == 0                 ? ""
                                 : words[i + 1] == NULL ? " or "
                                                        : ", ",
                                 words[i]);
    }
    fault(p, name, why);
    return usual;
}

long http_param_number(struct http_params *p, const char *name, long usual, long min, long max) {
    char why[80];
    const char *text = http_param_text(p, name);
    if (text[0] == '\0') {
        return usual;
    }
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || strspn(text, "0123456789") != strlen(text) || number < min ||
        number > max) {
        snprintf(why, sizeof why, "want a number from %ld to %ld", min, max);
        fault(p, name, why);
        return usual;
    }
    return number;
}
