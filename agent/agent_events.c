/* SPDX-License-Identifier: MIT
 *
 * The functions that the watcher calls.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/app_folder.h"
#include "cli/base/agent_places.h"
#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/live/process.h"
#include "cli/live/run_view.h"
#include "cli/render/render.h"
#include "os/os.h"

#define LINES_A_MINUTE 20u

static void print(const char *format, va_list arguments) {
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    sanitize_text(text);
    fprintf(stderr, "hangdog: %s\n", text);
}

void agent_print(struct agent *a, const char *format, ...) {
    uint64_t now_ns = hd_os_now_ns();
    if (now_ns - a->minute_ns > 60 * HD_NS_PER_S) {
        unsigned left_out = a->printed > LINES_A_MINUTE ? a->printed - LINES_A_MINUTE : 0;
        a->minute_ns = now_ns;
        a->printed = 0;
        if (left_out != 0) {
            agent_print_always("left out %u lines: more than %u in a minute", left_out, LINES_A_MINUTE);
        }
    }
    if (a->printed++ < LINES_A_MINUTE) {
        va_list arguments;
        va_start(arguments, format);
        print(format, arguments);
        va_end(arguments);
    }
}

void agent_print_always(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

static struct agent_watch *watch_of(struct agent *a, const struct watched_process *p) {
    const struct host_process *of = processes_find(&a->processes, p->pid);
    return of != NULL ? of->watch : NULL;
}

/* Processes of one name share a folder. True: one of them is watched there; `open`: and hangs now. */
static bool has_watch(const struct agent *a, const char *folder, bool open) {
    for (size_t i = 0; i < a->processes.count; i++) {
        const struct agent_watch *w = a->processes.process[i].watch;
        if (w != NULL && (!open || w->open != 0) && strcmp(w->folder, folder) == 0) {
            return true;
        }
    }
    return false;
}

static void give(struct agent *a, struct agent_watch *w) {
    bool lasts = has_watch(a, w->folder, true);
    int rc = app_folder_give(w->folder, w->reader, lasts);
    w->has_new = lasts; /* an open hang's report changes */
    if (rc != 0) {
        agent_print(a, "cannot give reports in %s to user %u: %s", w->folder, (unsigned)w->reader,
                    strerror(-rc));
    }
}

void agent_give_reports(struct agent *a) {
    for (size_t i = 0; i < a->processes.count; i++) {
        struct agent_watch *w = a->processes.process[i].watch;
        if (w != NULL && w->has_new) {
            give(a, w);
        }
    }
}

/* ---- which processes -------------------------------------------------------------------------- */

/* `hangdog run` watches it, or its own library: two reports of a hang would be one too many. */
static bool is_watched_inside(pid_t pid) {
    static const struct live_command command = {"agent", "watch"};
    struct live_process process;
    struct run_view view;
    struct problem why;
    if (live_process_open(pid, &command, &process, &why) != 0) {
        return false;
    }
    bool is = run_view_find(&view, &process);
    live_process_close(&process);
    return is;
}

static void set_text(char *to, size_t size, const char *text) {
    if (text != NULL) {
        snprintf(to, size, "%.*s", (int)size - 1, text);
    }
}

static void apply(const struct rule *rule, struct hd_record_options *options) {
    if (rule == NULL) {
        return;
    }
    options->threshold_ns = rule->threshold_ns != 0 ? rule->threshold_ns : options->threshold_ns;
    set_text(options->app_name, sizeof options->app_name, rule->app);
    set_text(options->app_version, sizeof options->app_version, rule->version);
    set_text(options->environment, sizeof options->environment, rule->environment);
    set_text(options->loop, sizeof options->loop, rule->loop);
    options->app_named = rule->app != NULL;
}

static bool make_folder(struct agent *a, struct agent_watch *w, const char *app) {
    int rc = app_folder_make(a->options->spool, w->reader, app, w->folder, sizeof w->folder);
    if (rc == -ENOTSUP && !a->no_lists_said) {
        a->no_lists_said = true;
        agent_print(a, "only root can read reports in %s: its file system has no access lists",
                    a->options->spool);
    }
    if (rc != 0 && rc != -ENOTSUP) {
        agent_print(a, "cannot make a folder for %s in %s: %s", app, a->options->spool, strerror(-rc));
        return false;
    }
    return true;
}

static void find_total(struct agent *a, struct agent_watch *w, uid_t user, const char *app) {
    struct total_key key = {.user = user, .reader = w->reader};
    const struct hd_origin *o = &w->origin;
    set_text(key.app, sizeof key.app, app);
    set_text(key.unit, sizeof key.unit, o->unit);
    set_text(key.container, sizeof key.container,
             o->container_name[0] != '\0' ? o->container_name : o->container_id);
    w->total = totals_take(&a->totals, &key);
}

/* The kernel gives root the files of a process that its user may not trace: set-user-id, or with rights that
 * were dropped. The folder itself stays the user's (proc(5), "dumpable"). */
static uid_t reader_of(pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return stat(path, &st) == 0 ? st.st_uid : 0;
}

static bool choose(void *agent, const struct watched_process *p, struct hd_record_options *options) {
    struct agent *a = agent;
    struct host_process *of = processes_find(&a->processes, p->pid);
    struct agent_watch *w = of != NULL && of->watch == NULL ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        return false;
    }
    *w = (struct agent_watch){.pid = p->pid, .reader = reader_of(p->pid), .added_ns = hd_os_now_ns()};
    outside_origin(p->pid, false, &w->origin);
    const struct rule *rule =
        rules_find(&a->rules, &(struct rule_facts){p->name, w->origin.unit, w->origin.container_id,
                                                   w->origin.container_name, w->origin.image, p->uid});
    const char *app = rule != NULL && rule->app != NULL ? rule->app : p->app;
    if (!rules_watch(rule, p->name) || is_watched_inside(p->pid)) {
        of->is = PROCESS_IGNORED;
        free(w);
        return false;
    }
    if (!make_folder(a, w, app)) {
        free(w);
        return false;
    }
    apply(rule, options);
    set_text(options->spool, sizeof options->spool, w->folder);
    find_total(a, w, p->uid, app);
    of->watch = w;
    of->is = PROCESS_WATCHED;
    return true;
}

void agent_forget(struct agent *a, struct host_process *of, const struct watched_process *p) {
    struct agent_watch *w = of->watch;
    if (w == NULL) {
        return;
    }
    if (p != NULL && w->total < a->totals.count) {
        total_add(&a->totals.total[w->total], p->record);
    }
    totals_leave(&a->totals, w->total);
    w->open = 0;
    give(a, w);
    of->watch = NULL;
    if (!has_watch(a, w->folder, false)) {
        app_folder_leave(w->folder);
    }
    free(w);
    of->is = of->is == PROCESS_WATCHED ? PROCESS_NEW : of->is;
}

static void process_ended(void *agent, const struct watched_process *p) {
    struct agent *a = agent;
    struct host_process *of = processes_find(&a->processes, p->pid);
    if (of != NULL) {
        agent_forget(a, of, p);
    }
}

/* By fork or exec: a new process is found by the next scan, an old one may have a loop now. */
static void process_began(void *agent, pid_t pid, pid_t parent) {
    struct agent *a = agent;
    struct host_process *of = processes_find(&a->processes, pid);
    (void)parent;
    if (of != NULL && of->watch == NULL) {
        of->is = PROCESS_NEW;
        of->looks = 0;
        of->next_ns = hd_os_now_ns() + HD_NS_PER_S;
    }
}

/* ---- hangs ------------------------------------------------------------------------------------ */

static void hang_open(void *agent, const struct watched_process *p, const struct watched_hang *h) {
    struct agent_watch *w = watch_of(agent, p);
    if (w != NULL) {
        w->open_since_ns = w->open++ == 0 ? h->start_ns : w->open_since_ns;
        give(agent, w);
    }
}

static void hang_over(struct agent_watch *w) {
    w->open -= w->open != 0;
    w->has_new = true; /* the next tick gives it */
}

static void hang_end(void *agent, const struct watched_process *p, const struct watched_hang *h) {
    struct agent_watch *w = watch_of(agent, p);
    char duration[RENDER_DURATION_BYTES];
    if (w == NULL) {
        return;
    }
    hang_over(w);
    w->last_wall_s = (int64_t)time(NULL);
    set_text(w->last_report, sizeof w->last_report, h->suppressed ? "" : h->report);
    render_duration(duration, (int64_t)h->duration_ns);
    if (w->last_report[0] != '\0') {
        const char *spool = ((struct agent *)agent)->options->spool;
        bool usual = strcmp(spool, AGENT_SPOOL) == 0;
        agent_print(agent, "hang of %s, %s[%d]; more: hangdog show %s%s%s", duration, p->app, (int)p->pid,
                    render_short_id(w->last_report), usual ? "" : " --spool ", usual ? "" : spool);
    }
}

static void hang_withdrawn(void *agent, const struct watched_process *p, const struct watched_hang *h) {
    struct agent_watch *w = watch_of(agent, p);
    (void)h;
    if (w != NULL) {
        hang_over(w);
    }
}

static void note(void *agent, const struct watched_process *p, const char *text) {
    if (p != NULL) {
        agent_print(agent, "%s[%d]: %s", p->app, (int)p->pid, text);
    } else {
        agent_print(agent, "%s", text);
    }
}

const struct watcher_events agent_watcher_events = {
    .choose = choose,
    .hang_open = hang_open,
    .hang_end = hang_end,
    .hang_withdrawn = hang_withdrawn,
    .process_ended = process_ended,
    .process_began = process_began,
    .note = note,
};
