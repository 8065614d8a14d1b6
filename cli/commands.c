/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

/* In the order of the help. Commands of one group stand together. */
static const struct command *const commands[] = {&command_run,    &command_attach,         &command_top,
                                                 &command_dump,   &command_list,           &command_stats,
                                                 &command_show,   &command_agent,          &command_serve,
                                                 &command_upload, &command_upload_symbols, &command_export,
                                                 &command_doctor, &command_complete,       NULL};

static const struct command_option before_command[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .to = offsetof(struct before_command, json),
     .help = "print JSON, for programs"},
    {.name = "spool",
     .kind = OPTION_TEXT,
     .to = offsetof(struct before_command, spool),
     .value = "DIR",
     .help = "reports of this folder",
     .completion = COMPLETE_FOLDER},
    {0},
};

const struct command command_hangdog = {
    .name = "",
    .about = "Find what freezes a program: which function, for how long, and why",
    .usage = "COMMAND [OPTIONS]",
    .example = {{"run -- ./server -p 80", "watch a program, show each hang"},
                {"show", "the last hang in full"},
                {"dump 4711", "why does this process not answer now?"}},
    .description =
        "Hangdog watches the event loops of programs. Where a turn of a loop takes longer than a threshold, half a second, "
        "the program hangs: Hangdog samples its stack meanwhile, and writes a report with the function that cost the "
        "time, for how long, and why.\n\n"
        "Reports are files in a spool, a folder for each app. Options may stand before the command, too.\n\n",
    .stops = true,
    .options = before_command,
    .commands = commands,
};
