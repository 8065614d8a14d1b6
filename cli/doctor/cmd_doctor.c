/* SPDX-License-Identifier: MIT
 *
 * hangdog doctor: what works here, each with a fix.
 */
#include "cli/base/error.h"
#include "cli/base/options.h"
#include "cli/base/sanitize.h"
#include "cli/commands.h"
#include "cli/doctor/checks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PID_DIGITS 9

struct options {
    const char *spool, *unit;
    bool json, drop_in;
};

static int cmd_doctor(int argc, char **argv);

static const struct command_option doctor_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, json),
     .help = "a JSON array of {check, status, detail, fix}"},
    {.name = "unit",
     .letter = 'u',
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, unit),
     .value = "NAME",
     .help = "check whether this systemd service can be watched",
     .more =
         "Its unit file and drop-ins are read: as systemd names them where it runs, else from its folders."},
    {.name = "drop-in",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, drop_in),
     .help = "print a drop-in that starts the service of --unit under watch",
     .more =
         "It belongs into /etc/systemd/system/NAME.service.d/hangdog.conf. What fails is printed on standard error, and "
         "no drop-in then."},
    {.name = "spool",
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, spool),
     .value = "DIR",
     .help = "check this folder, not the usual one",
     .completion = COMPLETE_FOLDER},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .group = "Check",
    .about = "Check what works here, and say how to fix what does not",
    .usage = "[OPTIONS] [PID | -- PROGRAM [ARGUMENT...]]",
    .example = {{"doctor", "this installation and system"},
                {"doctor -- ./server", "can this program be watched?"},
                {"doctor 4711", "what of this process can be read?"},
                {"doctor --unit nginx", "can this service be watched?"}},
    .description =
        "A line of ok, warn or fail for each check. Below a warn or fail is a command that fixes it, where there is "
        "one. Nothing is changed, and the program is not started.\n\n"
        "The checks: the library that is preloaded; the spool; /proc; the right to read other processes; seccomp "
        "filters; names of functions. Of a program: whether it can be watched. Of a process: whether it can be read, "
        "and whether it is watched.\n\n",
    .exit_status = "0\tno check fails\n1\ta check fails\n2\twrong use\n",
    .stops = true,
    .operand = COMPLETE_PROCESS,
    .options = doctor_options,
    .run = cmd_doctor,
};

static bool is_pid(const char *word) {
    size_t n = strlen(word);
    return n > 0 && n <= PID_DIGITS && strspn(word, "0123456789") == n && atoi(word) > 0;
}

/* With --drop-in the checks that fail are errors: stdout is the drop-in's. */
static int check_service(const struct options *o) {
    struct checks checks;
    checks_start(&checks);
    unit_checks_run(&checks, o->unit, o->drop_in);
    if (o->drop_in) {
        checks_print(stderr, &checks, true);
    } else if (o->json) {
        sanitize_print_json(stdout, checks.all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    } else {
        checks_print(stdout, &checks, options_quiet());
    }
    int status = error_check_stdout(o->drop_in ? "the drop-in" : "the checks");
    status = checks.failed ? EXIT_ERROR : status;
    checks_end(&checks);
    return status;
}

static int cmd_doctor(int argc, char **argv) {
    struct options o = {0};
    struct checks checks;
    int status, first = options_parse(&command_doctor, &o, argc, argv, &status);
    if (first < 0) {
        return status;
    }
    if (o.drop_in && o.unit == NULL) {
        return options_wrong_use(&command_doctor, "--drop-in of which service? Name it with --unit");
    }
    if (o.unit != NULL) {
        return first < argc ? options_wrong_use(&command_doctor, "unexpected '%s'", argv[first])
                            : check_service(&o);
    }
    bool program = strcmp(argv[first - 1], "--") == 0;
    if (program && first == argc) {
        return options_wrong_use(&command_doctor, "which program?");
    }
    if (!program && first < argc && !is_pid(argv[first])) {
        return options_wrong_use(&command_doctor, "'%s' is no PID; for a program: hangdog doctor -- %s",
                                 argv[first], argv[first]);
    }
    if (!program && first + 1 < argc) {
        return options_wrong_use(&command_doctor, "unexpected '%s'", argv[first + 1]);
    }
    checks_start(&checks);
    system_checks_run(&checks, o.spool);
    if (program) {
        target_checks_program(&checks, argv + first);
    } else if (first < argc) {
        target_checks_process(&checks, (pid_t)atoi(argv[first]));
    }
    if (o.json) {
        sanitize_print_json(stdout, checks.all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    } else {
        checks_print(stdout, &checks, options_quiet());
    }
    status = error_check_stdout("the checks");
    status = checks.failed ? EXIT_ERROR : status;
    checks_end(&checks);
    return status;
}
