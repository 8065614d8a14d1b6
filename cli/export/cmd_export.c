/* SPDX-License-Identifier: MIT
 *
 * hangdog export: reports in the formats of other programs. Ordinary code.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/export/formats.h"
#include "cli/export/select.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/send_options.h"
#include "cli/reader/summary_options.h"
#include "cli/reader/symbols_option.h"

static int cmd_export(int argc, char **argv);

#define TO(member) .to = offsetof(struct export_options, member)

static const struct command_option export_options[] = {
    {.name = "format",
     .kind = OPTION_TEXT,
     TO(format),
     .value = "FORMAT",
     .words = EXPORT_FORMATS,
     .help = "what to write (usually text):",
     .listed = true,
     .more =
         "Sites and programs that read them: speedscope.app, profiler.firefox.com, pprof, Sentry, a collector of "
         "OpenTelemetry, flamegraph.pl for collapsed, the text collector of Prometheus' node exporter."},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     TO(output),
     .value = "FILE",
     .help = "write to FILE, not to the standard output",
     .completion = COMPLETE_FILE},
    {.name = "all", .kind = OPTION_FLAG, TO(all), .help = "each report of the spool"},
    {.name = "app",
     .kind = OPTION_TEXT,
     TO(app),
     .value = "NAME",
     .help = "each report of this app",
     .completion = COMPLETE_APP},
    OPTION_SINCE(export_options, since, NULL),
    {.name = "send",
     .kind = OPTION_TEXT,
     TO(send),
     .value = "URL",
     .help = "send sentry or otlp there: a DSN, a collector",
     .more =
         "OTEL_EXPORTER_OTLP_HEADERS has the headers of a collector's key, as name=value,name=value. Reports stay "
         "in the spool. Sentry stores a report once, however often it comes."},
    OPTION_RETRIES(export_options, "with --send: "),
    OPTION_CA(export_options, "with --send: "),
    OPTION_SYMBOLS(export_options, symbols),
    OPTION_NO_SYMBOLS(export_options, no_symbols),
    OPTION_SPOOL(export_options),
    {0},
};

const struct command command_export = {
    .name = "export",
    .group = "Fleet",
    .about = "Write reports in the formats of other programs",
    .usage = "[OPTIONS] [ID|FILE|latest|latest~N]...",
    .example = {{"export --format speedscope -o hang.json", "for speedscope.app"},
                {"export --format collapsed --all", "for a flame graph"},
                {"export --format sentry --send https://KEY@HOST/1", "to Sentry"}},
    .description =
        "Without a report's name the latest one is written, as hangdog show prints it. With --all, --app or --since it "
        "is each one of the spool.\n\n"
        "Weights are times. The watched thread has its samples; each other thread has one stack, which counts for one "
        "interval between samples. Of a pool's stall each thread of the pool counts for as long as it was busy. Functions have the names that hangdog show prints.\n\n",
    .environment = SYMBOLS_ENVIRONMENT,
    .deep = true,
    .operand = COMPLETE_REPORT,
    .options = export_options,
    .run = cmd_export,
};

static int write_reports(const struct export_options *o, const struct export_format *format,
                         const json_t *reports) {
    FILE *out = o->output != NULL ? fopen(o->output, "we") : stdout;
    if (out == NULL) {
        return print_error("cannot write %s: %s", o->output, strerror(errno));
    }
    errno = 0;
    bool well = format->write(out, reports) == 0 && fflush(out) == 0;
    int error = errno;
    if (o->output != NULL && fclose(out) != 0 && well) {
        error = errno;
        well = false;
    }
    return well ? 0
                : print_error("cannot write %s: %s", o->output != NULL ? o->output : "the reports",
                              strerror(error));
}

static int cmd_export(int argc, char **argv) {
    struct export_options o = {0};
    int status = 0, first = options_parse(&command_export, &o, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    const struct export_format *format = export_format_of(o.format);
    if ((format->flags & EXPORT_IS_BINARY) != 0 && o.output == NULL && isatty(STDOUT_FILENO) != 0) {
        return print_error_try("hangdog export --format pprof -o hang.pb.gz",
                               "cannot print %s on a terminal: it is no text", o.format);
    }
    if (o.send != NULL && (o.output != NULL || !export_can_send(&o))) {
        return o.output != NULL ? options_wrong_use(&command_export, "--send and --output exclude each other")
                                : export_refuse_send();
    }
    if (o.send != NULL) {
        return fleet_start("hangdog-upload", argc, argv);
    }
    memory_keep_to_room();
    json_t *reports = export_select(&o, argv + first, argc - first, &status);
    if (reports != NULL) {
        int written = write_reports(&o, format, reports);
        status = written != 0 ? written : status;
    }
    json_decref(reports);
    return status;
}
