/* SPDX-License-Identifier: MIT */
#include "cli/attach/attach_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/attach/process_identity.h"
#include "cli/base/message.h"
#include "cli/base/shell_quote.h"
#include "cli/live/process.h"
#include "cli/run/preload_path.h"
#include "cli/run/run_spool.h"
#include "os/os.h"

#define SCAN_NS HD_NS_PER_S
#define SCAN_EARLY_NS (250 * HD_NS_PER_MS) /* a scan reads all of /proc */
#define UPDATE_NS HD_NS_PER_S

/* ---- what happens in the watcher -------------------------------------------------------------- */

/* A spool that the user names has a folder for each app, where a rule may find many. */
static bool put_spool(const struct attach_options *o, const char *app, char *path, size_t size,
                      struct problem *why) {
    struct run_options named = o->run;
    named.name = app;
    if (!run_spool_path(&named, path, size, why)) {
        return false;
    }
    size_t n = strlen(path);
    if (o->run.spool != NULL && attach_options_is_group(o) &&
        (size_t)snprintf(path + n, size - n, "/%s", app) >= size - n) {
        error_set(why, "cannot use the spool '%.200s': the path is too long; name a shorter one",
                  o->run.spool);
        return false;
    }
    return true;
}

static bool choose(void *arg, const struct watched_process *p, struct hd_record_options *to) {
    struct attach_watch *w = arg;
    struct app_identity app;
    process_identity_find(p->pid, p->uid, p->name, &w->options->run, &app);
    memcpy(to->app_name, app.name, sizeof to->app_name);
    memcpy(to->app_version, app.version, sizeof to->app_version);
    memcpy(to->environment, app.environment, sizeof to->environment);
    to->app_named = app.named;
    w->refusal = (struct problem){0};
    if (p->pid == getpid()) {
        error_set(&w->refusal, "cannot attach to process %d: it is this command itself; name another process",
                  (int)p->pid);
        return false;
    }
    if (preload_is_in(p->pid)) {
        error_set(&w->refusal, "cannot attach to process %d: hangdog run watches it already", (int)p->pid);
        error_try(&w->refusal, "%s top %d", shell_own_command(), (int)p->pid);
        return false;
    }
    return put_spool(w->options, app.name, to->spool, sizeof to->spool, &w->refusal) &&
           run_spool_check(to->spool, &w->refusal) == 0;
}

static void wake(const struct attach_watch *w) {
    (void)eventfd_write(w->wake_fd, 1);
}

static void process_added(void *arg, const struct watched_process *p) {
    struct attach_watch *w = arg;
    watched_list_add(w->list, p->pid, p->record);
    wake(w);
}

static void update(struct attach_watch *w, const struct watched_process *p) {
    struct watched_entry *e = watched_list_find(w->list, p->pid);
    if (e != NULL) {
        watched_list_update(e, p->record);
        atomic_store(&e->unwatched, p->unwatched);
    }
}

static void loop_known(void *arg, const struct watched_process *p, pid_t tid,
                       enum hd_record_certainty certainty) {
    (void)tid, (void)certainty;
    update(arg, p);
    wake(arg);
}

static void hang_end(void *arg, const struct watched_process *p, const struct watched_hang *h) {
    (void)h;
    update(arg, p);
}

static void process_ended(void *arg, const struct watched_process *p) {
    struct attach_watch *w = arg;
    struct watched_entry *e = watched_list_find(w->list, p->pid);
    if (e != NULL) {
        watched_list_update(e, p->record);
        atomic_store(&e->left, p->left);
        atomic_store(&e->ended_ns, hd_os_now_ns());
    }
}

static void note(void *arg, const struct watched_process *p, const char *text) {
    struct attach_watch *w = arg;
    struct watched_entry *e = p != NULL ? watched_list_find(w->list, p->pid) : NULL;
    if (e != NULL && !atomic_load(&e->noted)) {
        snprintf(e->note, sizeof e->note, "%s", text);
        atomic_store(&e->noted, true);
        wake(w);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A process of a rule is skipped in silence; one that the user names has an error. */
static void add(void *arg, int pid, bool named) {
    struct attach_watch *w = arg;
    struct problem why = {0};
    w->refusal = (struct problem){0};
    int rc = watcher_add(w->watcher, pid, &why);
    if (rc == 0 || rc == -EEXIST) {
        return;
    }
    const struct problem *reason = w->refusal.text[0] != '\0' ? &w->refusal : &why;
    if (named) {
        w->refused++;
        error_print(reason);
    } else if (w->skipped++ == 0) {
        w->first_skipped = *reason;
    }
}

static void process_began(void *arg, pid_t pid, pid_t parent) {
    struct attach_watch *w = arg;
    if (w->options->run.follow || pid == parent) {
        add(w, pid, false);
    } else {
        w->scan_early =
            !attach_options_is_group(w->options); /* the child may have a name that the user gave */
    }
}

static void fill_settings(struct hd_record_options *to, const struct run_options *o) {
    to->threshold_ns = (uint64_t)o->threshold_ns;
    to->interval_ns = (uint64_t)o->interval_ns;
    to->without_paths = o->without_paths;
    to->follow = o->follow;
    to->reports_per_day = o->reports_per_day != 0 ? (uint32_t)o->reports_per_day : UINT32_MAX;
    to->reports_per_fingerprint =
        o->reports_per_fingerprint != 0 ? (uint32_t)o->reports_per_fingerprint : UINT32_MAX;
    snprintf(to->loop, sizeof to->loop, "%s", o->loop != NULL ? o->loop : "");
}

/* Of --wait: prints that the last process has ended, or that another one is watched. */
static void print_waiting(struct attach_watch *w) {
    char names[300], text[512];
    uint32_t count = atomic_load(&w->list->count);
    bool none = watcher_count(w->watcher) == 0;
    if (!w->options->wait || none == w->waits) {
        return;
    }
    w->waits = none;
    targets_text(&w->targets, names, sizeof names);
    const struct watched_entry *last = count > 0 ? &w->list->entry[count - 1] : NULL;
    if (last == NULL) {
        snprintf(text, sizeof text, "waiting for %s, Ctrl-C ends", names);
    } else if (none) {
        snprintf(text, sizeof text, "%.64s[%d] ended; waiting for %s, Ctrl-C ends", last->options.app_name,
                 (int)last->pid, names);
    } else {
        snprintf(text, sizeof text, "attached to %.64s[%d]", last->options.app_name, (int)last->pid);
    }
    if (!w->options->run.quiet) {
        message_print(MESSAGE_DIM, &(struct message_part){text, NULL}, 1);
    }
}

/* No process of a group is watched. The command for one process of it is not the one that the user wants. */
static void say_none(const struct attach_watch *w, struct problem *why) {
    const struct attach_options *o = w->options;
    *why = w->first_skipped;
    if (!attach_options_is_group(o) || geteuid() == 0) {
        return;
    }
    const char *name = o->unit != NULL ? o->unit : o->user;
    char word[256] = "";
    if (!o->all) {
        quote_word(word, sizeof word, name);
    }
    error_set(why, "cannot attach to any of %u processes; the first: %.300s", w->skipped,
              w->first_skipped.text);
    error_try(why, "sudo %s attach %s%.200s", shell_own_command(),
              o->all            ? "--all"
              : o->unit != NULL ? "--unit "
                                : "--user ",
              word);
}

/* Some of a rule's processes are not watched. None is: why the first is not. */
static int sum_up_start(struct attach_watch *w, struct problem *why) {
    unsigned watched = watcher_count(w->watcher);
    if (w->skipped > 0 && watched > 0 && !w->options->run.quiet) {
        char text[512];
        snprintf(text, sizeof text, "%u of %u processes are not watched; the first: %.300s", w->skipped,
                 watched + w->skipped, w->first_skipped.text);
        message_print(MESSAGE_WARNING, &(struct message_part){text, NULL}, 1);
    }
    if (watched == 0 && w->skipped > 0) {
        say_none(w, why);
        return -1;
    }
    if (watched == 0 && w->options->wait) {
        return 0;
    }
    if (watched == 0 && w->refused == 0 && w->options->unit != NULL) {
        error_set(why, "cannot attach to unit '%.200s': no process of this host is in it", w->targets.unit);
        error_try(why, "systemctl status %.200s", w->targets.unit);
        return -1;
    }
    if (watched == 0 && w->refused == 0) {
        error_set(why, "cannot attach: no process to watch was found");
    }
    return watched > 0 ? 0 : -1;
}

int attach_watch_start(struct attach_watch *w, struct problem *why) {
    const struct attach_options *o = w->options;
    struct watcher_options options = {.hook = o->hook,
                                      .events = {.arg = w,
                                                 .choose = choose,
                                                 .process_added = process_added,
                                                 .loop = loop_known,
                                                 .hang_end = hang_end,
                                                 .process_ended = process_ended,
                                                 .process_began = process_began,
                                                 .note = note}};
    fill_settings(&options.settings, &o->run);
    w->targets.found = add;
    w->targets.arg = w;
    *why = (struct problem){0};
    if (targets_start(&w->targets, o, why) != 0) {
        return -1;
    }
    w->watcher = watcher_create(&options, why);
    if (w->watcher == NULL) {
        return -1;
    }
    targets_scan(&w->targets);
    int rc = sum_up_start(w, why);
    if (rc == 0) {
        print_waiting(w);
    }
    return rc;
}

void attach_watch_step(struct attach_watch *w, uint64_t now_ns) {
    watcher_step(w->watcher);
    if (w->scan_early && w->scan_due_ns > w->scanned_ns + SCAN_EARLY_NS) {
        w->scan_due_ns = w->scanned_ns + SCAN_EARLY_NS;
    }
    if (now_ns >= w->scan_due_ns) {
        w->scan_early = false;
        w->scanned_ns = now_ns;
        w->scan_due_ns = now_ns + SCAN_NS;
        if (targets_may_grow(&w->targets)) {
            targets_scan(&w->targets);
        }
    }
    print_waiting(w);
    if (now_ns >= w->update_due_ns) {
        w->update_due_ns = now_ns + UPDATE_NS;
        for (const struct watched_process *p = watcher_next(w->watcher, NULL); p != NULL;
             p = watcher_next(w->watcher, p)) {
            update(w, p);
        }
    }
}

uint64_t attach_watch_next_ns(const struct attach_watch *w) {
    uint64_t next = watcher_next_ns(w->watcher);
    next = w->update_due_ns < next ? w->update_due_ns : next;
    return w->scan_due_ns < next && targets_may_grow(&w->targets) ? w->scan_due_ns : next;
}

bool attach_watch_is_over(const struct attach_watch *w) {
    return watcher_count(w->watcher) == 0 && !w->options->wait && !attach_options_is_group(w->options);
}

void attach_watch_end(struct attach_watch *w) {
    if (w->watcher != NULL) {
        watcher_destroy(w->watcher);
        w->watcher = NULL;
    }
    targets_end(&w->targets);
    w->list->ended_ns = hd_os_now_ns();
}
