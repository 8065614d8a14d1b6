/* SPDX-License-Identifier: MIT
 *
 * hangdog run: watches a program that nobody rebuilt. Ordinary code.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/afterwards.h"
#include "cli/alone.h"
#include "cli/beside.h"
#include "cli/commands.h"
#include "cli/filters.h"
#include "cli/left_behind.h"
#include "cli/on_hang.h"
#include "cli/owner.h"
#include "cli/plain_text.h"
#include "cli/preload_path.h"
#include "cli/program_file.h"
#include "cli/quote.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/run_options.h"
#include "cli/runner.h"
#include "cli/sanitizers.h"
#include "cli/teller.h"
#include "os/os.h"
#include "report/spool.h"

#define LAUNCH_THRESHOLD_NS (10 * HD_NS_PER_S)
#define COMMANDS_NS (5 * HD_NS_PER_S) /* for what --on-hang still has to run when the program has ended */
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_RUN 126

/* ---- what the program needs ------------------------------------------------------------------ */

static bool spool_path(const struct run_options *o, char *path, size_t size, struct problem *why) {
    if (o->spool != NULL) {
        char *real = o->spool[0] == '/' ? strdup("") : realpath(".", NULL);
        if (real == NULL) {
            problem_set(why,
                        "cannot use the spool '%.200s': it is in the working folder, and that one: %s; "
                        "name it from the root on",
                        o->spool, strerror(errno));
            return false;
        }
        bool fits = (size_t)snprintf(path, size, "%s%s%s", real, real[0] != '\0' ? "/" : "", o->spool) < size;
        free(real);
        if (!fits) {
            problem_set(why, "cannot use the spool '%.200s': the path is too long; name a shorter one",
                        o->spool);
        }
        return fits;
    }
    char *folder = reports_default_folder(why);
    if (folder == NULL) {
        return false;
    }
    bool fits = (size_t)snprintf(path, size, "%s/%s", folder, o->name) < size;
    free(folder);
    if (!fits) {
        problem_set(why,
                    "cannot use the default spool: the path is too long; name a shorter one with --spool");
    }
    return fits;
}

/* Said before the program starts: a spool that cannot be written would lose every report. */
static int spool_ready(const char *path, struct problem *why) {
    struct hd_spool spool;
    int rc = hd_spool_open(&spool, path);
    if (rc == 0) {
        hd_spool_close(&spool);
        rc = access(path, W_OK | X_OK) == 0 ? 0 : -errno;
    }
    if (rc != 0) {
        problem_set(why, "cannot write reports to '%.500s': %s; %sname another folder with --spool", path,
                    strerror(-rc), rc == -EACCES ? "make it writable, or " : "");
    }
    return rc;
}

/* A limit that was set for the program and is too low for us. */
static bool is_limit(int rc) {
    return rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN || rc == -ENOMEM;
}

/* ---- while it runs --------------------------------------------------------------------------- */

struct telling {
    struct teller *teller;
    uint64_t next_ns; /* when there may be more to tell, whatever comes until then */
};

static void tell(void *telling) {
    struct telling *w = telling;
    teller_handle(w->teller);
    w->next_ns = teller_tick(w->teller, hd_os_now_ns());
}

static void follow(struct runner *r, struct teller *t, struct on_hang *commands) {
    struct telling w = {.teller = t};
    beside(r, tell, &w);
    while (!r->ended) {
        uint64_t now = hd_os_now_ns(), left = w.next_ns > now ? w.next_ns - now : 0;
        int timeout = w.next_ns == UINT64_MAX ? -1 : (int)(left / HD_NS_PER_MS + 1);
        struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
                               {.fd = t->notify_fd, .events = POLLIN}};
        if (poll(fds, 2, timeout) == 0 || fds[1].revents != 0) {
            beside(r, tell, &w);
        }
        runner_handle_signals(r);
        on_hang_reap(commands);
    }
}

/* The program has ended: its commands have some time left, unless somebody wants us to end too. */
static void finish_commands(const struct runner *r, struct on_hang *commands, bool quiet) {
    uint64_t until = hd_os_now_ns() + COMMANDS_NS;
    bool wanted = true;
    for (uint64_t now; wanted && on_hang_busy(commands) && (now = hd_os_now_ns()) < until;) {
        struct pollfd fd = {.fd = r->signal_fd, .events = POLLIN};
        wanted = poll(&fd, 1, (int)((until - now) / HD_NS_PER_MS + 1)) == 0 || !runner_asked_to_end(r);
        on_hang_reap(commands);
    }
    on_hang_stop(commands);
    if (commands->left_out > 0 && !quiet) {
        complain(
            "--on-hang: the command was not run, or not to its end, for %lu report%s: too many at a time, or "
            "5 s after the program's end",
            commands->left_out, by_count((int64_t)commands->left_out, "", "s"));
    }
}

/* Why the program was not watched, or not to its end; NULL: it was. */
static const char *unwatched_why(struct hd_record *c) {
    switch ((enum hd_unwatched)atomic_load(&c->unwatched)) {
    case HD_UNWATCHED_FILTER:
        return atomic_load(&c->attached) == 1
                   ? "it could not be watched: a seccomp filter is on all its "
                     "threads, and could end it for what ours do"
                   : "it could no longer be watched: a seccomp filter is on all its "
                     "threads, and could end it for what ours do";
    case HD_UNWATCHED_EXEC:
        return "it became another program, which could not be watched (a static one, of another architecture "
               "or C library, with privileges, or by a user who may not read our library)";
    case HD_UNWATCHED_ALONE:
        return "it could no longer be watched: its threads have different rights";
    case HD_UNWATCHED_ROOT:
        return "its root directory is another, from where neither /proc nor the spool can be reached";
    case HD_UNWATCHED_FAILED:
        return "it could not be watched: it had no memory or no thread left for the monitor";
    case HD_UNWATCHED_TABLE:
        return "it could not be watched: the kernel gave our threads no descriptor table of their own (allow "
               "close_range, or unshare before Linux 5.9, in the container's seccomp profile)";
    case HD_UNWATCHED_NOT:
    case HD_UNWATCHED_NO_WAIT:
    default:
        return NULL;
    }
}

/* A bit for each name of --thread: such a thread waited, in any image of the program or child of it. */
static uint32_t threads_seen(const struct runner *r) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        seen |= atomic_load(&r->record[i].threads_seen);
    }
    return seen;
}

/* What was asked for and is not there. */
static void tell_what_is_missing(const struct runner *r, const struct run_options *o) {
    struct hd_record *c = r->record;
    unsigned long long hangs = atomic_load(&c->hangs), failed = atomic_load(&c->spool_failed);
    unsigned long long dropped = atomic_load(&c->reports_dropped);
    int error = atomic_load(&c->spool_error);
    if (error != 0 && failed != 0) {
        complain("%llu report%s could not be written to '%.500s': %s; the hangs were %llu", failed,
                 by_count((int64_t)failed, "", "s"), c->options.spool, strerror(error), hangs);
    }
    if (dropped != 0) {
        complain("%llu of the oldest reports in '%.500s' went for its limits: %d reports, %llu MiB", dropped,
                 c->options.spool, HD_SPOOL_REPORTS, HD_SPOOL_BYTES >> 20);
    }
    for (size_t i = 0; i < o->threads.count && atomic_load(&c->attached) != 0; i++) {
        if ((threads_seen(r) >> i & 1) == 0) {
            complain("--thread %s: no such thread waited in a loop", o->threads.text[i]);
        }
    }
}

static void sum_up(const struct runner *r, const struct run_options *o, bool can_be_shown) {
    struct hd_record *c = r->record;
    char ran[RENDER_DURATION_BYTES], hung[RENDER_DURATION_BYTES], how[256],
        spool[4 * sizeof c->options.spool];
    uint64_t ran_ns = r->ended_ns - c->options.started_ns;
    unsigned long long hangs = atomic_load(&c->hangs);
    render_duration(ran, (int64_t)ran_ns);
    render_duration(hung, (int64_t)atomic_load(&c->hang_ns));
    quote_word(spool, sizeof spool, c->options.spool);
    const char *why = unwatched_why(c);
    uint32_t seen = atomic_load(&c->loop_seen);
    if (atomic_load(&c->attached) == 0) {
        snprintf(how, sizeof how, "it could not be watched: it did not load %s", PRELOAD_FILE);
    } else if (why != NULL) {
        snprintf(how, sizeof how, "%s", why);
    } else if (seen == HD_RECORD_NO_LOOP && o->loop != NULL) {
        snprintf(how, sizeof how, "--loop %.200s: no wait of it was seen", o->loop);
    } else if (seen == HD_RECORD_NO_LOOP) {
        snprintf(how, sizeof how, "no event loop was seen; what to do: hangdog run --help");
    } else if (hangs == 0) {
        snprintf(how, sizeof how, "%sno hang of %ld ms or more",
                 seen == HD_RECORD_LOOP ? "no event loop was seen for certain, and " : "", o->threshold_ms);
    } else {
        snprintf(how, sizeof how, "%llu hang%s, %s in all", hangs, by_count((int64_t)hangs, "", "s"), hung);
    }
    bool shown = hangs != 0 && why == NULL && seen != HD_RECORD_NO_LOOP && can_be_shown;
    complain("%.255s ran for %s; %s%s%s", o->name, ran, how,
             shown ? "; see: hangdog show latest --spool " : "", shown ? spool : "");
}

static void tell_children(const struct runner *r) {
    unsigned all = 0, go_on = 0;
    char numbers[128] = "";
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &r->record[i];
        size_t n = strlen(numbers);
        bool child =
            atomic_load(&c->owner) != 0 && atomic_load(&c->superseded_ns) == 0 && c->options.of_child;
        pid_t pid = child ? owner_here(c) : 0;
        all += child;
        if (pid != 0) {
            go_on++;
            snprintf(numbers + n, sizeof numbers - n, "%s%d", n == 0 ? "" : ", ", (int)pid);
        }
    }
    if (go_on > 0) {
        complain("of %u %s followed %u %s on (%s); %s reports are kept, and told no more", all,
                 by_count(all, "child that was", "children that were"), go_on, by_count(go_on, "goes", "go"),
                 numbers, by_count(go_on, "its", "their"));
    }
}

static void tell_left_behind(const struct runner *r, const struct run_options *o) {
    pid_t pid = atomic_load(&r->record->attached) != 0 ? left_behind(r) : 0;
    if (pid != 0) {
        complain("%s has left process %d behind, which goes on and %s", o->name, (int)pid,
                 o->follow ? "is watched once it waits; its reports are kept, and told no more"
                           : "is not watched; --follow watches it too");
    }
}

static int not_started(const struct run_options *o, int rc) {
    const char *program = o->program[0];
    struct problem why;
    problem_set(&why, "%s; %s", strerror(-rc),
                rc != -ENOENT                  ? "check that it is a program that you may run"
                : strchr(program, '/') == NULL ? "check the name and PATH"
                                               : "check the path");
    if (rc == -ENOENT) {
        program_lacks(program, &why);
    }
    complain("cannot run '%.500s': %s", program, why.text);
    return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void fill_options(struct hd_record_options *to, const struct run_options *o, const char *spool) {
    to->threshold_ns = (uint64_t)o->threshold_ms * HD_NS_PER_MS;
    to->interval_ns = (uint64_t)o->interval_ms * HD_NS_PER_MS;
    to->launch_threshold_ns = LAUNCH_THRESHOLD_NS;
    to->seccomp_filters = filters_tried();
    to->follow = o->follow;
    to->reports_per_day = to->reports_per_fingerprint = UINT32_MAX;
    snprintf(to->app_name, sizeof to->app_name, "%s", o->name);
    snprintf(to->spool, sizeof to->spool, "%s", spool);
    to->threads = (uint32_t)o->threads.count;
    for (size_t i = 0; i < o->threads.count; i++) {
        snprintf(to->thread[i], sizeof to->thread[i], "%s", o->threads.text[i]);
    }
    snprintf(to->loop, sizeof to->loop, "%s", o->loop != NULL ? o->loop : "");
    uint64_t wall_ns = 0;
    hd_os.wall_clock(&wall_ns);
    hd_uuid_make(to->session, wall_ns);
}

/* Runs it in our place: nothing of us is in its way, and no memory is left of ours but what exec takes. */
static int run_unwatched(const struct run_options *o, const char *why) {
    if (!o->quiet) {
        complain("'%s' is run unwatched: %s", o->program[0], why);
    }
    fflush(NULL);
    runner_as_before();
    execvp(o->program[0], o->program);
    return not_started(o, -errno);
}

/* What the watch would need cannot be had. */
static int run_without_room(const struct run_options *o, int rc) {
    struct problem why;
    const char *what_to_do = rc == -EMFILE   ? "raise the limit on open files (ulimit -n)"
                             : rc == -EFBIG  ? "raise the limit on the size of files (ulimit -f)"
                             : rc == -ENOSPC ? "make room for the spool, or name another with --spool"
                                             : "close some programs and try again";
    problem_set(&why, "what watching needs cannot be had: %s; %s", strerror(-rc), what_to_do);
    return run_unwatched(o, why.text);
}

/* --exec: the program takes our place. */
static int run_alone(const struct run_options *o, const char *spool, const char *preload) {
    struct hd_record_options options = {0};
    struct alone a;
    fill_options(&options, o, spool);
    int rc = alone_prepare(&a, &options);
    if (rc != 0) {
        return run_without_room(o, rc);
    }
    return not_started(o, alone_become(&a, o->program, preload));
}

int cmd_run(int argc, char **argv) {
    struct run_options o;
    struct problem why;
    struct runner r;
    struct teller teller = {0};
    struct on_hang commands = {0};
    char spool[4 * HD_RECORD_STRING], own[PATH_MAX], preload[2 * PATH_MAX];
    char words[sizeof " --spool " + 4 * sizeof spool];
    int rc = 0;
    if (!run_options_parse(argc, argv, &o, &rc)) {
        return rc;
    }
    runner_begin();
    if (!spool_path(&o, spool, sizeof spool, &why)) {
        return complain("%s", why.text);
    }
    if ((rc = spool_ready(spool, &why)) != 0) {
        return is_limit(rc) ? run_without_room(&o, rc) : complain("%s", why.text);
    }
    if ((rc = alone_settle_dead(spool, o.quiet)) != 0 && !o.quiet) {
        complain(
            "what a program left in '%.500s' could not be told: %s; the next run with this spool tries again",
            spool, strerror(-rc));
    }
    if (!program_can_be_watched(o.program[0], &why) || !preload_path(own, sizeof own, &why)) {
        return run_unwatched(&o, why.text);
    }
    preload_list(preload, sizeof preload, own, getenv("LD_PRELOAD"), o.program[0]);
    if (o.exec) {
        return run_alone(&o, spool, preload);
    }
    if ((rc = runner_prepare(&r)) != 0) {
        return run_without_room(&o, rc);
    }
    fill_options(&r.record->options, &o, spool);
    commands.command = o.on_hang;
    if (o.spool != NULL) {
        quote_spool(words, sizeof words, spool);
        teller.spool_words = words;
    }
    teller.json = o.json;
    teller.quiet = o.quiet;
    teller.commands = &commands;
    bool tried;
    if ((rc = teller_open(&teller, r.record)) != 0) {
        return run_without_room(&o, rc);
    }
    if ((rc = runner_start(&r, o.program, preload, &tried)) != 0) {
        return tried ? not_started(&o, rc) : run_without_room(&o, rc);
    }
    follow(&r, &teller, &commands);
    afterwards(&r);
    teller_finish(&teller);
    bool can_be_shown = teller_has_left(&teller);
    teller_close(&teller);
    finish_commands(&r, &commands, o.quiet);
    if (!o.quiet) {
        tell_left_behind(&r, &o);
        tell_what_is_missing(&r, &o);
        bool whole =
            unwatched_why(r.record) == NULL && atomic_load(&r.record->loop_seen) != HD_RECORD_NO_LOOP;
        if (!teller.sessions_told || !whole) { /* a session of an image before says nothing of the last one */
            sum_up(&r, &o, can_be_shown);
        }
        if (o.follow) {
            tell_children(&r);
        }
    }
    runner_end_alike(r.status);
}
