/* SPDX-License-Identifier: MIT
 *
 * hangdog agent: the options of the service that watches a host. `agent/` does the work.
 */
#include "cli/base/agent_places.h"
#include "cli/base/duration.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"

#include <stddef.h>

static int cmd_agent(int argc, char **argv);

#define TO(member) .to = offsetof(struct agent_options, member)

static const struct command_option agent_options[] = {
    {.name = "rules",
     .kind = OPTION_TEXT,
     TO(rules),
     .value = "FILE",
     .help = "which programs, and how (/etc/hangdog/agent.conf)",
     .more = "SIGHUP reads it again.",
     .completion = COMPLETE_FILE},
    {.name = "check",
     .kind = OPTION_FLAG,
     TO(check),
     .help = "print what the rules say of each process, and end"},
    {.name = "threshold",
     .letter = 't',
     .kind = OPTION_DURATION,
     TO(threshold),
     .value = "TIME",
     .min = 10 * DURATION_MS,
     .max = DURATION_H,
     .help = "a turn is a hang after this time (500ms)",
     .more = "A rule may set another one for its programs."},
    {.name = "spool",
     .kind = OPTION_TEXT,
     TO(spool),
     .value = "DIR",
     .help = "keep the reports there (" AGENT_SPOOL ")",
     .more = "A folder for each user, in it one for each app. Only root and that user can read them.",
     .completion = COMPLETE_FOLDER},
    {.name = "metrics",
     .kind = OPTION_TEXT,
     TO(metrics),
     .value = "ADDR:PORT",
     .help = "answer Prometheus there, at /metrics",
     .more = "Each user who can connect sees the apps of all users, and how often they hang."},
    {.name = "metrics-file",
     .kind = OPTION_TEXT,
     TO(metrics_file),
     .value = "FILE",
     .help = "write the same for node_exporter, each 15 s",
     .more = "Its textfile collector reads FILE.prom. The group of FILE's folder may read the file.",
     .completion = COMPLETE_FILE},
    {.name = "cpu",
     .kind = OPTION_TEXT,
     TO(cpu),
     .value = "PERCENT",
     .help = "use at most so much of a CPU (0.5)",
     .more =
         "On the average of an hour. Over it, the agent leaves the process that costs most, and says so."},
    {.name = "memory",
     .kind = OPTION_COUNT,
     TO(memory),
     .value = "MIB",
     .min = 8,
     .max = 1 << 20,
     .help = "use at most so much memory (64)"},
    {.name = "socket",
     .kind = OPTION_TEXT,
     TO(socket),
     .value = "FILE",
     .rare = true,
     .help = "the socket for hangdog top (" AGENT_SOCKET ")",
     .completion = COMPLETE_FILE},
    {.name = "hook",
     .kind = OPTION_TEXT,
     TO(hook),
     .value = "NAME",
     .rare = true,
     .words = "fentry|switches|counter|records|looks",
     .help = "how the kernel reports waits (the best allowed, but not fentry)",
     .more = "hangdog doctor prints the way taken, and what a better one needs."},
    {0},
};

const struct command command_agent = {
    .name = "agent",
    .group = "Fleet",
    .about = "Watch all programs of this host that have an event loop",
    .usage = "[OPTIONS]",
    .example = {{"agent --check", "which processes would be watched?"},
                {"agent --metrics 127.0.0.1:9836", "with figures for Prometheus"},
                {"top", "the host, live, while the agent runs"}},
    .description =
        "The agent is a service: systemctl enable --now hangdog-agent. It finds each process with a thread that waits in "
        "poll, select, epoll_wait or io_uring_enter, one second and ten seconds after the start, then each minute, later each five minutes. It watches the "
        "process from outside: no restart, no signal, no stop, no code in the process. Processes that hangdog run or a "
        "library of Hangdog watches are left to that one.\n\n"
        "The rules file has one rule a line. The first rule that matches a process decides; without one the process is "
        "watched. A rule is the word watch or ignore, then conditions, then settings for what is watched. Conditions: "
        "program=PATTERN, unit=PATTERN, container=PATTERN (id, name or image), user=NAME. Settings: threshold=TIME, app=NAME, "
        "version=TEXT, environment=TEXT, loop=MODULE[:FUNCTION]. Patterns are those of a shell. # starts a comment.\n\n"
        "ignore program=bash\n\n"
        "watch unit=nginx threshold=200ms environment=production\n\n"
        "ignore container=*\n\n"
        "Started by root, the agent keeps CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHOWN, and "
        "drops all other rights. The last one gives each report to the user of its program.\n\n"
        "A user sees the reports and figures of own programs: hangdog list, hangdog top. Root sees all. A program that its "
        "user may not trace, such as a set-user-id one, is root's. hangdog upload, as root, sends the reports of all.\n\n",
    .environment = "STATE_DIRECTORY\tthe default spool: systemd sets it\n"
                   "RUNTIME_DIRECTORY\tthe folder of the socket: systemd sets it\n"
                   "NOTIFY_SOCKET\twhere the agent says that it is ready\n",
    .no_spool = true,
    .instead = {{.option = "unit", .command = "hangdog attach --unit"},
                {.option = "user", .command = "hangdog attach --user"}},
    .options = agent_options,
    .run = cmd_agent,
};

static int cmd_agent(int argc, char **argv) {
    struct agent_options o = {0};
    return fleet_check_and_start(&command_agent, &o, "hangdog-agent", argc, argv);
}
