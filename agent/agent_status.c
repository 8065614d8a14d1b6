/* SPDX-License-Identifier: MIT
 *
 * The pages of the agent. A user sees the processes of this user only; root sees all. At the address of
 * --metrics all are there: the administrator has opened it.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/base/sanitize.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

uint64_t agent_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t agent_resident_bytes(void) {
    char text[128], *at = text;
    if (hd_proc_read(AT_FDCWD, "/proc/self/statm", text, sizeof text) <= 0) {
        return 0;
    }
    (void)strtoul(at, &at, 10);
    return strtoul(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool may_see(uid_t user, uid_t owner) {
    return user == SERVER_NOT_LOCAL || user == 0 || user == geteuid() || user == owner;
}

/* ---- figures ---------------------------------------------------------------------------------- */

static void put_own(FILE *out, const struct agent *a) {
    const struct hd_hook_way *way = watcher_way(a->watcher);
    const struct {
        const char *name, *help, *type;
        double value;
    } metric[] = {
        {"cpu_seconds_total", "CPU time of the agent.", "counter", (double)agent_cpu_ns() / HD_NS_PER_S},
        {"resident_bytes", "Memory of the agent.", "gauge", (double)agent_resident_bytes()},
        {"left_out", "Processes that are not watched, for the agent's budget is used up.", "gauge", a->shed},
    };
    for (size_t i = 0; i < sizeof metric / sizeof metric[0]; i++) {
        fprintf(out, "# HELP hangdog_agent_%s %s\n# TYPE hangdog_agent_%s %s\nhangdog_agent_%s %.15g\n",
                metric[i].name, metric[i].help, metric[i].name, metric[i].type, metric[i].name,
                metric[i].value);
    }
    fprintf(out,
            "# HELP hangdog_agent_hook The way in which the agent sees waits.\n"
            "# TYPE hangdog_agent_hook gauge\nhangdog_agent_hook{name=\"%s\"} 1\n",
            way != NULL ? way->name : "");
}

static bool put_figures(const struct agent *a, uid_t user, FILE *out) {
    struct total *all = calloc(a->totals.count + 1, sizeof *all);
    size_t count = 0;
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < a->totals.count; i++) {
        all[i] = a->totals.total[i];
    }
    for (size_t i = 0; i < a->processes.count; i++) {
        const struct agent_watch *w = a->processes.process[i].watch;
        const struct watched_process *p = w != NULL ? watcher_find(a->watcher, w->pid) : NULL;
        if (p != NULL && w->total < a->totals.count) {
            total_add(&all[w->total], p->record);
            all[w->total].processes++;
            all[w->total].loops += p->loops;
            all[w->total].frozen += w->open != 0;
        }
    }
    for (size_t i = 0; i < a->totals.count; i++) {
        if (may_see(user, all[i].key.reader) && i != TOTALS_MAX) {
            all[count++] = all[i];
        }
    }
    put_own(out, a);
    totals_print(out, all, count);
    free(all);
    return true;
}

void agent_write_figures(struct agent *a, const char *path) {
    char temp[4096], folder[4096];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || (size_t)snprintf(temp, sizeof temp, "%s.tmp", path) >= sizeof temp) {
        return; /* main has checked the path */
    }
    *slash = '\0';
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    /* The folder's group reads it: node_exporter's, where the folder is that one's. */
    bool well = out != NULL && stat(folder, &st) == 0 && fchmod(fd, 0640) == 0;
    well = well && (st.st_gid == getegid() || fchown(fd, (uid_t)-1, st.st_gid) == 0 || errno == EPERM);
    well = well && put_figures(a, SERVER_NOT_LOCAL, out);
    int error = errno;
    if (out != NULL) {
        well = fclose(out) == 0 && well;
    }
    if (!well || rename(temp, path) != 0) {
        agent_print(a, "cannot write %s: %s", path, strerror(well ? errno : error));
        (void)unlink(temp);
    }
}

/* ---- status ----------------------------------------------------------------------------------- */

/* A process may have any bytes in its name, and JSON has UTF-8. */
static void make_json_text(char *text) {
    sanitize_text(text);
    bool plain = sanitize_is_plain(text);
    for (; !plain && *text != '\0'; text++) {
        *text = (char)((unsigned char)*text < 0x80 ? *text : '?');
    }
}

static void set_text(json_t *to, const char *name, const char *text) {
    char *plain = text[0] != '\0' ? strdup(text) : NULL;
    if (plain != NULL) {
        make_json_text(plain);
        json_object_set_new(to, name, json_stringn_nocheck(plain, strlen(plain)));
    }
    free(plain);
}

static void set_number(json_t *to, const char *name, uint64_t value) {
    json_object_set_new(to, name, json_integer((json_int_t)(value & INT64_MAX)));
}

/* A histogram gives the bucket of the worst turn, a hang its duration. */
static uint64_t worst_of(const struct total *t) {
    for (unsigned i = HD_TURN_BUCKETS; i-- > 0;) {
        if (t->histogram[i] != 0) {
            uint64_t least_ns = UINT64_C(1) << i;
            return t->longest_ns > least_ns ? t->longest_ns : least_ns;
        }
    }
    return t->longest_ns;
}

static json_t *status_of(const struct agent_watch *w, const struct watched_process *p, uint64_t now_ns) {
    json_t *one = json_object();
    struct total sum = {0};
    total_add(&sum, p->record);
    set_number(one, "pid", (uint64_t)p->pid);
    set_number(one, "uid", p->uid);
    set_text(one, "name", p->name);
    set_text(one, "app", p->app);
    set_text(one, "unit", w->origin.unit);
    set_text(one, "container",
             w->origin.container_name[0] != '\0' ? w->origin.container_name : w->origin.container_id);
    set_number(one, "watched_ns", now_ns - w->added_ns);
    set_number(one, "loops", p->loops);
    set_number(one, "hangs", sum.hangs);
    set_number(one, "hang_ns", sum.hang_ns);
    set_number(one, "turns", sum.turns);
    set_number(one, "worst_ns", worst_of(&sum));
    set_number(one, "busy_ns", sum.busy_ns);
    set_number(one, "idle_ns", sum.idle_ns);
    if (w->open != 0) {
        set_number(one, "frozen_ns", now_ns - w->open_since_ns);
    }
    if (w->last_wall_s != 0) {
        set_number(one, "last_hang_at", (uint64_t)w->last_wall_s);
        set_text(one, "last_report", w->last_report);
    }
    return one;
}

static bool put_status(const struct agent *a, uid_t user, FILE *out) {
    const struct hd_hook_way *way = watcher_way(a->watcher);
    uint64_t now_ns = hd_os_now_ns();
    json_t *all = json_object(), *list = json_array();
    bool sees_all = user == 0 || user == geteuid();
    set_text(all, "hook", way != NULL ? way->name : "");
    set_number(all, "at_ns", now_ns);
    set_number(all, "watched_ns", now_ns - a->started_ns);
    json_object_set_new(all, "all_users", json_boolean(sees_all));
    if (sees_all) {
        set_number(all, "cpu_ns", agent_cpu_ns());
        set_number(all, "resident_bytes", agent_resident_bytes());
        set_number(all, "left_out", a->shed);
        set_text(all, "less", a->less);
    }
    for (size_t i = 0; i < a->processes.count; i++) {
        const struct agent_watch *w = a->processes.process[i].watch;
        const struct watched_process *p = w != NULL ? watcher_find(a->watcher, w->pid) : NULL;
        if (p != NULL && may_see(user, w->reader)) {
            json_array_append_new(list, status_of(w, p, now_ns));
        }
    }
    json_object_set_new(all, "processes", list);
    bool well = json_dumpf(all, out, JSON_COMPACT) == 0;
    json_decref(all);
    return well;
}

const char *agent_answer(void *agent, const char *page, uid_t user, FILE *out) {
    const struct agent *a = agent;
    if (strcmp(page, "/metrics") == 0) {
        return put_figures(a, user, out) ? "text/plain; version=0.0.4" : NULL;
    }
    if (strcmp(page, "/status") == 0 && user != SERVER_NOT_LOCAL) {
        return put_status(a, user, out) ? "application/json" : NULL;
    }
    return NULL;
}
