/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/app_folder.h"
#include "cli/base/agent_places.h"
#include "cli/base/sanitize.h"
#include "cli/live/process.h"
#include "os/notify_socket.h"
#include "os/os.h"

#define SCAN_NS (2 * HD_NS_PER_S)
#define LOOKS_NS (250 * HD_NS_PER_MS)
#define EARLY_NS (60 * HD_NS_PER_MS) /* looks may be early, and need no wake-up of their own */
#define LOOKS_MAX 100u               /* in one round */
#define ADDED_MAX 4u                 /* each reads the process's files: some milliseconds */
#define FIGURES_NS (15 * HD_NS_PER_S)
#define REPORTS_A_DAY 100u
#define REPORTS_PER_FINGERPRINT 10u
#define INTERVAL_NS (50 * HD_NS_PER_MS)

static struct hd_record_options settings_of(const struct agent_options *o) {
    return (struct hd_record_options){.interval_ns = INTERVAL_NS,
                                      .threshold_ns = (uint64_t)o->threshold,
                                      .reports_per_day = REPORTS_A_DAY,
                                      .reports_per_fingerprint = REPORTS_PER_FINGERPRINT};
}

static bool open_watcher(struct agent *a, struct problem *why) {
    struct watcher_options options = {.settings = settings_of(a->options),
                                      .hook = a->options->hook,
                                      .events = agent_watcher_events,
                                      .now = &a->supervision->now};
    options.events.arg = a;
    a->watcher = watcher_create(&options, why);
    return a->watcher != NULL;
}

static void say(struct agent *a, const char *what) {
    char text[256];
    const struct hd_hook_way *way = watcher_way(a->watcher);
    snprintf(text, sizeof text, "%sWATCHDOG=1\nSTATUS=watches %u programs (%s)%s%s", what,
             watcher_count(a->watcher), way != NULL ? way->name : "", a->less[0] != '\0' ? "; " : "",
             a->less);
    (void)hd_notify_send(a->notify_fd, text);
}

static void print_start(struct agent *a) {
    const uint16_t port = server_port(a->server);
    char figures[40] = "";
    if (port != 0) {
        snprintf(figures, sizeof figures, ", figures at port %u", port);
    }
    agent_print(a, "watches this host by %s%s; see: hangdog top", watcher_way(a->watcher)->name, figures);
}

bool agent_start(struct agent *a, const struct agent_options *options, struct problem *why) {
    const char *notify = getenv("NOTIFY_SOCKET");
    a->options = options;
    a->notify_fd = -1;
    a->started_ns = hd_os_now_ns();
    if (!rules_read(options->rules, strcmp(options->rules, AGENT_RULES) == 0, &a->rules, why) ||
        !app_folder_make_spool(options->spool, why) || !open_watcher(a, why)) {
        return false;
    }
    a->notify_fd = notify != NULL ? hd_notify_open(notify) : -1;
    budget_start(&a->budget, strtod(options->cpu, NULL), (uint64_t)options->memory << 20, a->started_ns,
                 agent_cpu_ns());
    say(a, "READY=1\n");
    print_start(a);
    return true;
}

void agent_stop(struct agent *a) {
    (void)hd_notify_send(a->notify_fd, "STOPPING=1");
    if (a->watcher != NULL) {
        watcher_destroy(a->watcher); /* calls process_ended for all */
    }
    server_close(a->server);
    hd_os_close(a->notify_fd);
    processes_free(&a->processes);
    totals_free(&a->totals);
    rules_free(&a->rules);
}

/* ---- finding processes ------------------------------------------------------------------------ */

static void gone(void *agent, struct host_process *of) {
    struct agent *a = agent;
    if (of->watch != NULL) {
        watcher_remove(a->watcher, of->pid);
        agent_forget(a, of, NULL); /* unless process_ended did */
    }
    a->shed -= of->is == PROCESS_SHED;
}

static void add(struct agent *a, struct host_process *of) {
    struct problem why;
    a->shed -= of->is == PROCESS_SHED;
    of->is = PROCESS_NEW;
    int rc = watcher_add(a->watcher, of->pid, &why);
    if (rc < 0 && of->watch != NULL) {
        agent_forget(a, of, NULL);
    }
    if (rc < 0 && of->is == PROCESS_NEW && (rc == -EPERM || rc == -EACCES || rc == -ENOTSUP)) {
        of->is = PROCESS_NEVER;
    }
}

/* Some at a time, so that the looks at hangs are not late. */
static void look_at_processes(struct agent *a, uint64_t now_ns) {
    struct host_process *of;
    unsigned added = 0;
    for (unsigned i = 0; i < LOOKS_MAX && added < ADDED_MAX; i++) {
        of = processes_due(&a->processes, now_ns);
        if (of == NULL) {
            return;
        }
        uid_t user = process_user(of->pid);
        if (supervision_leaves(a->supervision, of->pid, of->started_ns, user, now_ns)) {
            continue;
        }
        working_for(&a->supervision->now, of->pid, user);
        if ((of->is == PROCESS_NEW || a->verdict == BUDGET_MORE) && process_waits(of->pid)) {
            add(a, of);
            added += of->is == PROCESS_WATCHED;
        }
        working_for(&a->supervision->now, 0, 0);
    }
}

static void print_void_rules(struct agent *a) {
    for (size_t i = 0; i < a->rules.count; i++) {
        const struct rule *first = rules_covering(&a->rules, &a->rules.rule[i]);
        if (first != NULL) {
            agent_print(a, "line %u of the rules has no effect: line %u matches all of its processes",
                        a->rules.rule[i].line, first->line);
        }
    }
}

static void read_rules(struct agent *a) {
    struct rules rules;
    struct problem why;
    if (!rules_read(a->options->rules, strcmp(a->options->rules, AGENT_RULES) == 0, &rules, &why)) {
        error_print(&why); /* the rules of before stay */
        return;
    }
    rules_free(&a->rules);
    a->rules = rules;
    for (size_t i = 0; i < a->processes.count; i++) {
        gone(a, &a->processes.process[i]);
        a->processes.process[i].is =
            a->processes.process[i].is == PROCESS_SHED ? PROCESS_NEW : a->processes.process[i].is;
    }
    processes_look_again(&a->processes, hd_os_now_ns());
    agent_print(a, "the rules are read again");
    print_void_rules(a);
}

/* ---- the budget ------------------------------------------------------------------------------- */

static uint64_t cost_of(const struct watched_process *p, const struct agent_watch *w) {
    return p->spent_ns - w->spent_ns;
}

/* The process for which the watcher has worked longest since the last check; of equal ones that with the most
 * loops. */
static struct host_process *find_dearest(struct agent *a) {
    struct host_process *dearest = NULL;
    uint64_t most_ns = 0;
    unsigned loops = 0;
    for (size_t i = 0; i < a->processes.count; i++) {
        struct host_process *of = &a->processes.process[i];
        struct agent_watch *w = of->watch;
        const struct watched_process *p = w != NULL ? watcher_find(a->watcher, of->pid) : NULL;
        if (p == NULL) {
            continue;
        }
        uint64_t cost_ns = cost_of(p, w);
        if (dearest == NULL || cost_ns > most_ns || (cost_ns == most_ns && p->loops > loops)) {
            dearest = of;
            most_ns = cost_ns;
            loops = p->loops;
        }
        w->spent_ns += cost_ns;
    }
    return dearest;
}

static void watch_less(struct agent *a, uint64_t now_ns) {
    struct host_process *of = find_dearest(a);
    if (of == NULL) {
        return;
    }
    const struct watched_process *p = watcher_find(a->watcher, of->pid);
    bool memory = agent_resident_bytes() > a->budget.bytes;
    snprintf(a->less, sizeof a->less, "leaves out %.60s[%d] and %u more: over %s%s", p->app, (int)of->pid,
             a->shed, memory ? "the limit of memory" : a->options->cpu, memory ? "" : "% of a CPU");
    sanitize_text(a->less);            /* a line of its own would be another word to systemd */
    agent_print_always("%s", a->less); /* nothing else names the program */
    watcher_remove(a->watcher, of->pid);
    agent_forget(a, of, NULL);
    of->is = PROCESS_SHED;
    of->next_ns = now_ns + 300 * HD_NS_PER_S;
    a->shed++;
    malloc_trim(0);
}

static void tick(struct agent *a, uint64_t now_ns) {
    a->verdict = budget_check(&a->budget, now_ns, agent_cpu_ns(), agent_resident_bytes());
    if (a->verdict == BUDGET_LESS) {
        watch_less(a, now_ns);
    }
    a->less[a->shed != 0 ? strlen(a->less) : 0] = '\0';
    agent_give_reports(a);
    say(a, "");
    if (a->options->metrics_file != NULL && now_ns >= a->file_ns) {
        a->file_ns = now_ns + FIGURES_NS;
        agent_write_figures(a, a->options->metrics_file);
    }
}

/* ---- the loop --------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Waits until something is due. True: the server has work. */
static bool wait_for_work(struct agent *a) {
    struct pollfd fds[SERVER_POLLED + 1];
    size_t count = server_poll(a->server, fds), servers = count;
    uint64_t now_ns = hd_os_now_ns(), until_ns = least(watcher_next_ns(a->watcher), a->tick_ns);
    int fd = watcher_descriptor(a->watcher);
    until_ns = least(until_ns, a->look_ns);
    if (fd >= 0) {
        fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    uint64_t for_ns = until_ns > now_ns ? least(until_ns - now_ns, HD_NS_PER_S) : 0;
    const struct timespec wait = {.tv_nsec = (long)(for_ns % HD_NS_PER_S),
                                  .tv_sec = (time_t)(for_ns / HD_NS_PER_S)};
    bool ready = false;
    if (ppoll(fds, count, &wait, NULL) > 0) {
        for (size_t i = 0; i < servers; i++) {
            ready |= fds[i].revents != 0;
        }
    }
    return ready;
}

void agent_run(struct agent *a, const volatile sig_atomic_t *stop, volatile sig_atomic_t *reload) {
    while (*stop == 0) {
        bool ready = wait_for_work(a);
        uint64_t now_ns = hd_os_now_ns();
        watcher_step(a->watcher);
        if (ready || now_ns >= a->tick_ns) { /* a connection may be too old */
            server_step(a->server, now_ns);
        }
        if (now_ns >= a->scan_ns) {
            bool busy = a->budget.credit_ns < (int64_t)(60 * a->budget.ns_per_s);
            (void)processes_scan(&a->processes, now_ns, gone, a); /* the next one may do better */
            a->scan_ns = now_ns + (busy ? 5 * SCAN_NS : SCAN_NS);
        }
        if (now_ns + EARLY_NS >= a->look_ns) {
            look_at_processes(a, now_ns);
            a->look_ns = now_ns + LOOKS_NS;
        }
        if (now_ns >= a->tick_ns) {
            tick(a, now_ns);
            a->tick_ns = now_ns + HD_NS_PER_S;
        }
        if (*reload != 0) {
            *reload = 0;
            read_rules(a);
        }
    }
}
