/* SPDX-License-Identifier: MIT
 *
 * hangdog-agent: watches all programs of a host that have a loop. `hangdog agent` starts it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/rights.h"
#include "cli/base/agent_places.h"
#include "cli/base/duration.h"
#include "cli/base/options.h"
#include "cli/base/proc.h"
#include "cli/commands.h"
#include "os/os.h"

static volatile sig_atomic_t stop, reload;

static void on_signal(int number) {
    if (number == SIGHUP) {
        reload = 1;
    } else {
        stop = 1;
    }
}

static void take_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* In systemd's folder, of a list the first one; else in one that it makes. */
static const char *socket_path(char *path, size_t size) {
    const char *given = getenv("RUNTIME_DIRECTORY");
    if (given != NULL && given[0] == '/') {
        snprintf(path, size, "%.*s/socket", (int)strcspn(given, ":"), given);
        return path;
    }
    /* each user may connect to the socket, whatever the umask is; the call that makes the socket reports
     * errors */
    if (mkdir("/run/hangdog-agent", 0755) == 0) {
        (void)chmod("/run/hangdog-agent", 0755);
    }
    return AGENT_SOCKET;
}

static const char *spool_path(char *path, size_t size) {
    const char *given = getenv("STATE_DIRECTORY");
    if (given != NULL && given[0] == '/') {
        snprintf(path, size, "%.*s", (int)strcspn(given, ":"), given);
        return path;
    }
    return AGENT_SPOOL;
}

static bool is_percent(const char *text) {
    char *end;
    double value = strtod(text, &end);
    return end != text && *end == '\0' && value >= 0.001 && value <= 100;
}

static struct agent agent;

static int watch(void *arg) {
    struct problem why;
    take_signals();
    supervision_take_signals(agent.supervision);
    bool started = agent_start(&agent, arg, &why);
    if (started) {
        agent_run(&agent, &stop, &reload);
    }
    agent_stop(&agent);
    return started ? EXIT_SUCCESS : error_print(&why);
}

/* The socket outlives a second process that is replaced. */
static int watch_supervised(struct agent_options *o) {
    const struct server_options server = {
        .path = o->socket, .listen = o->metrics, .arg = &agent, .answer = agent_answer};
    struct problem why;
    int error = rights_drop();
    if (error != 0) {
        return print_error("cannot drop the rights that are not needed: %s", strerror(error));
    }
    agent.supervision = supervision_create();
    if (agent.supervision == NULL) {
        return print_error("cannot start: out of memory");
    }
    agent.server = server_open(&server, &why);
    return agent.server != NULL ? supervise(agent.supervision, watch, o) : error_print(&why);
}

int main(int argc, char **argv) {
    char socket[108], spool[4096];
    struct agent_options o = {
        .rules = AGENT_RULES, .threshold = 500 * DURATION_MS, .cpu = "0.5", .memory = 64};
    int status;
    if (options_parse(&command_agent, &o, argc, argv, &status) < 0) {
        return status;
    }
    if (!is_percent(o.cpu)) {
        return options_wrong_use(&command_agent, "--cpu '%s': want a percentage from 0.001 to 100", o.cpu);
    }
    if (o.metrics_file != NULL && (o.metrics_file[0] != '/' || strlen(o.metrics_file) > 4000)) {
        return options_wrong_use(&command_agent, "--metrics-file: name the file from the root on");
    }
    if (!proc_is_ours()) {
        return print_error("cannot watch: /proc is of another PID namespace");
    }
    hd_os_clock_init();
    umask(0077);
    if (o.check) {
        return agent_check(&o);
    }
    o.socket = o.socket != NULL ? o.socket : socket_path(socket, sizeof socket);
    o.spool = o.spool != NULL ? o.spool : spool_path(spool, sizeof spool);
    return watch_supervised(&o);
}
