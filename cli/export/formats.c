/* SPDX-License-Identifier: MIT */
#include "cli/export/formats.h"

#include <string.h>

#include "cli/export/collapsed.h"
#include "cli/export/firefox.h"
#include "cli/export/otlp.h"
#include "cli/export/pprof.h"
#include "cli/export/prometheus.h"
#include "cli/export/sentry.h"
#include "cli/export/speedscope.h"
#include "cli/export/text.h"

static const struct export_format formats[] = {
    {"text", export_text, false},
    {"collapsed", export_collapsed, false},
    {"speedscope", export_speedscope, false},
    {"firefox", export_firefox, false},
    {"pprof", export_pprof, true},
    {"sentry", export_sentry, false},
    {"otlp", export_otlp, false},
    {"prometheus", export_prometheus, false},
};

const struct export_format *export_format_of(const char *name) {
    for (size_t i = 0; name != NULL && i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return &formats[0];
}
