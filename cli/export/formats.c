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
    {"text", export_text, false, ".txt", "text/plain; charset=utf-8"},
    {"collapsed", export_collapsed, false, ".collapsed.txt", "text/plain; charset=utf-8"},
    {"speedscope", export_speedscope, false, ".speedscope.json", "application/json"},
    {"firefox", export_firefox, false, ".firefox.json", "application/json"},
    {"pprof", export_pprof, true, ".pb.gz", "application/octet-stream"},
    {"sentry", export_sentry, false, ".envelope", "application/x-sentry-envelope"},
    {"otlp", export_otlp, false, ".otlp.json", "application/json"},
    {"prometheus", export_prometheus, false, ".prom", "text/plain; version=0.0.4"},
};

const struct export_format *export_format_of(const char *name) {
    for (size_t i = 0; name != NULL && i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return &formats[0];
}
