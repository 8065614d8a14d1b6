/* SPDX-License-Identifier: MIT
 *
 * hangdog top: a running process, live in the terminal. Ordinary code.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cli/base/agent_places.h"
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"
#include "cli/live/dump_text.h"
#include "cli/live/process.h"
#include "cli/live/top_host_screen.h"
#include "cli/live/top_screen.h"
#include "cli/live/top_text.h"
#include "os/os.h"

static int cmd_top(int argc, char **argv);

struct options {
    bool once;
    int64_t interval_ns;
    const char *socket;
};

#define INTERVAL_NS 1000000000

static const struct command_option top_options[] = {
    {.name = "interval",
     .kind = OPTION_DURATION,
     .to = offsetof(struct options, interval_ns),
     .value = "TIME",
     .help = "between two looks (1s)",
     .more = "Without this option a look that costs more than 1% of a CPU has longer intervals after it.",
     .min = 100 * 1000000LL,
     .max = 3600 * 1000000000LL},
    {.name = "once",
     .kind = OPTION_FLAG,
     .to = offsetof(struct options, once),
     .help = "print one screen as text, after one interval, and end"},
    {.name = "socket",
     .kind = OPTION_TEXT,
     .to = offsetof(struct options, socket),
     .value = "FILE",
     .rare = true,
     .help = "the socket of hangdog-agent (" AGENT_SOCKET ")",
     .completion = COMPLETE_FILE},
    {0},
};

const struct command command_top = {
    .name = "top",
    .group = "Watch",
    .about = "Show a running process live: its threads, what each waits for, a stack",
    .usage = "[OPTIONS] [PID|NAME]",
    .example = {{"top redis-server", "the one process of that name"},
                {"top --once 4711", "one screen as text, without a terminal"},
                {"top", "all programs of the host, where hangdog-agent runs"}},
    .description =
        "The process needs no preparation. It is not stopped, not signalled and not traced: a thread that waits is read "
        "where it is. A thread that runs has no stack.\n\n"
        "Up and down choose a thread, and top shows its stack. s sorts, e shows all frames, space pauses, d ends "
        "and prints all stacks, h helps, q ends.\n\n"
        "CPU is the share of one CPU since the look before.\n\n"
        "Without a process, top shows the programs that hangdog-agent watches on this host: root sees all, another user "
        "the own ones. s sorts by hangs an hour, worst turn, share of busy time, name.\n\n",
    .environment = "DEBUGINFOD_URLS\tservers of debug information, for functions and lines\n",
    .no_spool = true,
    .deep = true,
    .instead = {{.option = "unit", .command = "hangdog attach --unit"},
                {.option = "all", .command = "hangdog top"}},
    .operand = COMPLETE_PROCESS,
    .options = top_options,
    .run = cmd_top,
};

static const struct live_command top_command = {"top", "show"};

/* The process's index in argv, argc for the host, -1 with the exit status in *status. */
static int parse_options(int argc, char **argv, struct options *o, int *status) {
    int first = options_parse(&command_top, o, argc, argv, status);
    o->socket = o->socket != NULL ? o->socket : AGENT_SOCKET;
    if (first < 0 || argc - first == 1 || (argc == first && top_host_is_there(o->socket))) {
        return first;
    }
    *status =
        argc == first
            ? options_wrong_use(&command_top, "which process? A PID, or a NAME; the whole host "
                                              "is shown where hangdog-agent runs")
            : options_wrong_use(&command_top, "unexpected '%s': one process at a time", argv[first + 1]);
    return -1;
}

static int say_failed(const struct live_process *p, int rc) {
    return live_process_lives(p) ? print_error("cannot show process %d: %s", p->pid, strerror(-rc))
                                 : print_error("cannot show process %d: it has just ended", p->pid);
}

/* ---- one screen ------------------------------------------------------------------------------- */

static int show_once(struct top_look *l, const struct options *o) {
    struct top_state state = {0};
    struct top_page page = {0};
    int rc = top_look_take(l);
    if (rc == 0) {
        hd_os_nap(o->interval_ns != 0 ? (uint64_t)o->interval_ns : INTERVAL_NS);
        rc = top_look_take(l);
    }
    if (rc != 0) {
        return say_failed(l->process, rc);
    }
    top_state_sort(l->thread, l->count, state.order);
    top_text(&page, l, &state, render_width(stdout), 0);
    top_page_print(stdout, &page);
    top_page_clear(&page);
    return error_check_stdout("the screen");
}

/* ---- live ------------------------------------------------------------------------------------- */

#define FIRST_NS (200 * HD_NS_PER_MS) /* until the second look, which has shares of a CPU */
#define SHARE 100u                    /* of a CPU, at most one part of so many */
#define LONGEST_NS (10 * HD_NS_PER_S)

/* The first looks read debug information, and are not counted. */
static uint64_t next_look(const struct top_look *l, const struct options *o, unsigned looks) {
    uint64_t interval_ns = o->interval_ns != 0 ? (uint64_t)o->interval_ns : INTERVAL_NS;
    uint64_t for_cost_ns = SHARE * l->own_cpu_ns < LONGEST_NS ? SHARE * l->own_cpu_ns : LONGEST_NS;
    if (looks < 2) {
        return l->at_ns + (interval_ns < FIRST_NS ? interval_ns : FIRST_NS);
    }
    return l->at_ns + (o->interval_ns != 0 || for_cost_ns < interval_ns ? interval_ns : for_cost_ns);
}

static void draw(struct top_look *l, struct top_state *s) {
    struct top_page page = {0};
    int width, height;
    top_screen_size(&width, &height);
    top_state_sort(l->thread, l->count, s->order);
    top_text(&page, l, s, width, height);
    top_screen_draw(&page);
    top_page_clear(&page);
}

/* Until the user ends it: 0; else why there is no next look. */
static int show_looks(struct top_look *l, const struct options *o, struct top_state *s) {
    uint64_t next_ns = 0;
    unsigned looks = 0;
    while (!s->quit) {
        if (!s->paused && hd_os_now_ns() >= next_ns) {
            int rc = top_look_take(l);
            if (rc != 0) {
                return rc;
            }
            next_ns = next_look(l, o, looks++);
        }
        draw(l, s);
        uint64_t until_ns = s->paused ? hd_os_now_ns() + INTERVAL_NS : next_ns;
        top_state_press(s, top_screen_key(until_ns), l->thread, l->count);
    }
    return 0;
}

static int show_live(struct top_look *l, const struct options *o) {
    struct top_state state = {0};
    struct problem why;
    if (top_screen_open(&why) != 0) {
        error_try(&why, "%s top --once %d", shell_own_command(), l->process->pid);
        return error_print(&why);
    }
    int rc = show_looks(l, o, &state);
    top_screen_close();
    if (rc != 0 && live_process_lives(l->process)) {
        return print_error("cannot show process %d: %s", l->process->pid, strerror(-rc));
    }
    if (rc != 0) {
        fprintf(stderr, "hangdog: %s[%d] has ended\n", l->process->name, l->process->pid);
    } else if (state.dump) {
        const struct render_options text = {.colour = render_wants_colour(stdout),
                                            .width = render_width(stdout)};
        dump_text(stdout, l->report, &text);
    }
    return error_check_stdout("the stacks");
}

static int cmd_top(int argc, char **argv) {
    struct options o = {0};
    struct live_process process;
    struct top_look look;
    struct problem why;
    int status = 0, which = parse_options(argc, argv, &o, &status);
    if (which < 0) {
        return status;
    }
    if (which == argc) {
        return top_host_show(o.socket, o.interval_ns != 0 ? (uint64_t)o.interval_ns : INTERVAL_NS, o.once);
    }
    int pid = process_find(argv[which], &top_command, &why);
    if (pid <= 0 || live_process_open(pid, &top_command, &process, &why) != 0) {
        return error_print(&why);
    }
    live_process_app(&process, process.name, sizeof process.name); /* as attach and the agent name it */
    memory_keep_to_room();
    hd_os_clock_init();
    top_look_start(&look, &process);
    status = o.once ? show_once(&look, &o) : show_live(&look, &o);
    top_look_end(&look);
    live_process_close(&process);
    return status;
}
