/* SPDX-License-Identifier: MIT
 *
 * hangdog run: watches a program that nobody rebuilt. Ordinary code.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/base/signal_state.h"
#include "cli/base/spool_folder.h"
#include "cli/commands.h"
#include "cli/reader/reports.h"
#include "cli/reporter/on_hang.h"
#include "cli/reporter/reporter.h"
#include "cli/run/exec_mode.h"
#include "cli/run/preload_list.h"
#include "cli/run/preload_path.h"
#include "cli/run/program_check.h"
#include "cli/run/run_options.h"
#include "cli/run/runner.h"
#include "cli/run/seccomp_trial.h"
#include "cli/run/second_thread.h"
#include "cli/run/summary.h"
#include "cli/settle/previous_run.h"
#include "cli/settle/settle.h"
#include "cli/settle/take_reports.h"
#include "os/os.h"
#include "record/uuid.h"
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

static bool is_limited(rlim_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes;
}

/* A full disk takes a file's name, and no byte of it. */
static int has_room(const char *path) {
    static const char page[4096] = {1};
    char made[5 * HD_RECORD_STRING];
    int fd = (size_t)snprintf(made, sizeof made, "%s/.room-XXXXXX", path) < sizeof made
                 ? mkostemp(made, O_CLOEXEC)
                 : -1;
    if (fd < 0) {
        return -errno;
    }
    ssize_t n = write(fd, page, sizeof page);
    int rc = n == (ssize_t)sizeof page ? 0 : n < 0 ? -errno : -ENOSPC;
    rc = rc == -EFBIG || (n > 0 && is_limited(sizeof page)) ? 0 : rc; /* the program's limit, said later */
    close(fd);
    unlink(made);
    return rc;
}

/* Said before the program starts: a spool that cannot be written would lose every report. */
static int spool_ready(const char *path, struct problem *why) {
    struct hd_spool spool;
    int rc = spool_folder_open(path);
    if (rc == -ELOOP) {
        problem_set(why, "cannot use the spool '%.500s': another user's link leads there; name its folder",
                    path);
        return rc;
    }
    rc = hd_spool_open(&spool, path);
    if (rc == 0) {
        hd_spool_close(&spool);
        rc = spool_folder_open(path);
    }
    if (rc == 0) {
        rc = access(path, W_OK | X_OK) == 0 ? 0 : -errno;
    }
    if (rc == 0) {
        rc = has_room(path);
    }
    if (rc != 0) {
        problem_set(why, "cannot write reports to '%.500s': %s; %sname another folder with --spool", path,
                    strerror(-rc), rc == -EACCES ? "make it writable, or " : "");
    }
    return rc;
}

/* For the reports of this run alone. */
static bool make_spare_spool(char *path, size_t size) {
    const char *above[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
        if (above[i] != NULL && above[i][0] == '/' &&
            (size_t)snprintf(path, size, "%s/hangdog-XXXXXX", above[i]) < size && mkdtemp(path) != NULL) {
            if (has_room(path) == 0) {
                return true;
            }
            rmdir(path);
        }
    }
    return false;
}

/* The reports have been shown, or nobody knows of them. */
static void remove_spare_spool(const char *path) {
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), e->d_name, 0); /* not "." and ".." */
    }
    closedir(dir);
    rmdir(path);
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

static bool begin_to_tell(struct runner *r, struct telling *w) {
    teller_start_names(w->teller);
    return on_second_thread(r, tell, w);
}

/* False: a thread was left that still tells. */
static bool follow(struct runner *r, struct teller *t, struct on_hang *commands) {
    static struct telling w; /* which may outlast the call */
    w.teller = t;
    bool done = begin_to_tell(r, &w);
    while (!r->ended) {
        uint64_t now = hd_os_now_ns(), left = w.next_ns > now ? w.next_ns - now : 0;
        int timeout = w.next_ns == UINT64_MAX ? -1 : (int)(left / HD_NS_PER_MS + 1);
        struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
                               {.fd = t->notify_fd, .events = POLLIN}};
        if (poll(fds, 2, timeout) == 0 || fds[1].revents != 0) {
            done = begin_to_tell(r, &w);
        }
        runner_handle_signals(r);
        on_hang_reap(commands);
    }
    return done;
}

static void finish(void *teller) {
    teller_finish(teller);
}

/* The program has ended: its commands have some time left, unless somebody wants us to end too. How many
 * were not run. */
static unsigned long finish_commands(struct runner *r, struct on_hang *commands) {
    uint64_t now = hd_os_now_ns(), until = now + COMMANDS_NS;
    for (; now < until && !runner_asked_to_end(r); now = hd_os_now_ns()) {
        on_hang_reap(commands);
        if (!on_hang_busy(commands)) {
            break;
        }
        struct pollfd fd = {.fd = r->signal_fd, .events = POLLIN};
        poll(&fd, 1, (int)((until - now) / HD_NS_PER_MS + 1));
    }
    return on_hang_stop(commands);
}

static void run_commands(void *teller) {
    teller_run_commands(teller);
}

/* For what a thread that was left did not come to: it needs no functions. Who wants us to end is told how
 * many. */
static void add_commands(struct runner *r, struct teller *teller) {
    if (runner_asked_to_end(r)) {
        on_hang_stop(teller->commands);
    }
    if (teller->commands->command != NULL) {
        on_second_thread(r, run_commands, teller);
    }
}

/* What is said at the end. */
struct ending {
    const struct runner *r;
    const struct run_options *o;
    struct teller *untold;  /* a thread still tells, and has it; NULL: all is told */
    unsigned long left_out; /* by finish_commands */
    bool no_memory;         /* for a report, which was not told */
    const char *spare;      /* the spool, where it is of this run alone; else NULL */
    bool session_told;      /* this and the next: as closing_lines has them */
    char last[37];
};

static void say_ending(void *ending) {
    const struct ending *e = ending;
    if (e->untold != NULL) {
        teller_say_kept(e->untold);
    }
    if (e->left_out > 0) {
        complain(
            "--on-hang: the command was not run, or not to its end, for %lu report%s: it has 5 s after the "
            "program's end, or until a signal",
            e->left_out, by_count((int64_t)e->left_out, "", "s"));
    }
    if (e->untold != NULL || e->no_memory) {
        char words[sizeof " --spool " + 4 * sizeof e->r->decided.spool];
        quote_spool(words, sizeof words, e->r->decided.spool);
        complain("not all reports could be told%s; see: %s list --no-symbols%s",
                 e->untold != NULL ? " in time: what their functions are is still looked up"
                                   : ": there was no memory",
                 own_command(), words);
    }
    closing_lines(e->r, e->o, e->session_told, e->spare == NULL ? e->last : "");
}

/* Nobody may read it: we can be told to end all the same. */
static _Noreturn void end(struct runner *r, struct ending *e, bool quiet) {
    bool all_said = (quiet || on_second_thread(r, say_ending, e)) && e->untold == NULL;
    if (e->spare != NULL) {
        remove_spare_spool(e->spare);
    }
    if (!all_said) {
        runner_end_at_once(r->run.status);
    }
    runner_end_alike(r->run.status);
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

static uint32_t or_no_limit(long asked) {
    return asked != 0 ? (uint32_t)asked : UINT32_MAX;
}

static void fill_options(struct hd_record_options *to, const struct run_options *o, const char *spool) {
    to->threshold_ns = (uint64_t)o->threshold_ns;
    to->interval_ns = (uint64_t)o->interval_ns;
    to->launch_threshold_ns = LAUNCH_THRESHOLD_NS;
    to->seccomp_filters = filters_tried();
    to->follow = o->follow;
    to->without_paths = o->without_paths;
    to->reports_per_day = or_no_limit(o->reports_per_day);
    to->reports_per_fingerprint = or_no_limit(o->reports_per_fingerprint);
    snprintf(to->app_name, sizeof to->app_name, "%s", o->name);
    snprintf(to->spool, sizeof to->spool, "%s", spool);
    to->threads = (uint32_t)o->threads.count;
    for (size_t i = 0; i < o->threads.count; i++) {
        snprintf(to->thread[i], sizeof to->thread[i], "%s", o->threads.text[i]);
    }
    snprintf(to->loop, sizeof to->loop, "%s", o->loop != NULL ? o->loop : "");
    hd_uuid_make(to->session, hd_os_wall_ns());
}

/* Runs it in our place: nothing of us is in its way, and no memory is left of ours but what exec takes. */
static int run_unwatched(const struct run_options *o, const char *why) {
    if (!o->quiet) {
        complain("'%s' is run unwatched: %s", o->program[0], why);
    }
    fflush(NULL);
    signal_state_restore();
    execvp(o->program[0], o->program);
    return not_started(o, -errno);
}

static const char *how_to_have_it(const struct run_options *o, int rc) {
    switch (-rc) {
    case EMFILE:
        return "raise the limit on open files (ulimit -n)";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EAGAIN:
        return "raise the limit on processes (ulimit -u, or pids.max of the cgroup)";
    case ENOSPC:
    case EDQUOT:
        return "make room for the spool, or name another with --spool";
    case ENFILE:
    case ENOMEM:
        return "close some programs and try again";
    default: /* with --exec the record is a file in the spool, and locked */
        return o->exec ? "name another spool with --spool"
                       : "allow memfd_create, signalfd and fork where a seccomp filter forbids them";
    }
}

/* What the watch would need cannot be had. */
static int run_without_room(const struct run_options *o, int rc) {
    struct problem why;
    problem_set(&why, "what watching needs cannot be had: %s; %s", strerror(-rc), how_to_have_it(o, rc));
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
    previous_forget(spool, o->name);
    return not_started(o, alone_become(&a, o->program, preload));
}

static void settle_dead(const struct run_options *o, const char *spool) {
    int rc = alone_settle_dead(spool, o->quiet);
    if (rc != 0 && !o->quiet) {
        complain(
            "what a program left in '%.500s' could not be told: %s; the next run with this spool tries again",
            spool, strerror(-rc));
    }
}

/* `why` is said: the spool that was asked for cannot be written. */
static bool use_spare_spool(const struct run_options *o, char *spool, size_t size,
                            const struct problem *why) {
    if (!make_spare_spool(spool, size)) {
        return false;
    }
    if (o->exec) {
        complain("%s; this run's reports go to '%.200s'", why->text, spool);
    } else {
        complain("%s; this run's reports are shown and not kept", why->text);
    }
    return true;
}

int cmd_run(int argc, char **argv) {
    struct run_options o;
    struct problem why;
    struct runner r;
    struct previous before;
    struct teller teller = {0};
    struct on_hang commands = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char spool[4 * HD_RECORD_STRING], own[PATH_MAX], preload[2 * PATH_MAX];
    char words[sizeof " --spool " + 4 * sizeof spool];
    int rc = 0;
    if (!run_options_parse(argc, argv, &o, &rc)) {
        return rc;
    }
    signal_state_save();
    const char *deadly = filters_deadly_call(o.exec);
    if (deadly != NULL) {
        problem_set(&why, "a seccomp filter ends who calls %s, as the watch does; have it let that pass",
                    deadly);
        return run_unwatched(&o, why.text);
    }
    if (!spool_path(&o, spool, sizeof spool, &why)) {
        return complain("%s", why.text);
    }
    rc = spool_ready(spool, &why);
    if (is_limit(rc)) {
        return run_without_room(&o, rc);
    }
    settle_dead(&o, spool);
    if (rc != 0 && !use_spare_spool(&o, spool, sizeof spool, &why)) {
        return run_unwatched(&o, why.text);
    }
    bool spare = rc != 0;
    if (!program_can_be_watched(o.program[0], &why) || !preload_path(own, sizeof own, &why)) {
        return run_unwatched(&o, why.text);
    }
    preload_list(preload, sizeof preload, own, getenv("LD_PRELOAD"), program_named(o.program));
    if (o.exec) {
        return run_alone(&o, spool, preload);
    }
    if ((rc = runner_prepare(&r)) != 0) {
        return run_without_room(&o, rc);
    }
    fill_options(&r.run.record->options, &o, spool);
    r.decided = r.run.record->options;
    commands.command = o.on_hang;
    (void)own_command(); /* before there are two threads that may ask */
    if (o.spool != NULL) {
        quote_spool(words, sizeof words, spool);
        teller.spool_words = words;
    }
    teller.json = o.json;
    teller.quiet = o.quiet;
    teller.not_kept = spare;
    teller.commands = &commands;
    bool tried;
    teller.names = &r.names;
    teller_open(&teller, r.run.record, &r.decided);
    char file[PATH_MAX];
    bool found = program_find(program_named(o.program), file, sizeof file);
    previous_prepare(&before, spool, o.name, found ? file : NULL);
    if ((rc = runner_start(&r, o.program, preload, &tried)) != 0) {
        return tried ? not_started(&o, rc) : run_without_room(&o, rc);
    }
    previous_begin(&before);
    static struct take_reports taker; /* which its thread may outlast */
    take_reports_start(&taker, r.run.record, &r.decided);
    bool told = follow(&r, &teller, &commands);
    take_reports_end(&taker);
    if (!runner_stop_sharing(&r)) {
        told = false;
    }
    take_reports_count(&taker, r.run.record);
    teller.records = r.run.record;
    afterwards(&r.run, before.end);
    previous_note(&before, &r.run, names_were_killed(&r.names));
    if (told &&
        (o.json || o.follow || atomic_load(&r.run.record->hangs) != 0)) { /* not for the session's alone */
        teller_start_names(&teller);
    }
    struct ending e = {.r = &r, .o = &o, .spare = spare ? spool : NULL};
    if (!told || !on_second_thread(&r, finish, &teller)) {
        e.untold = &teller;
    } else {
        teller_last_left(&teller, e.last);
        e.session_told = teller.sessions_told;
        e.no_memory = teller.untold;
        names_end(&r.names);
        teller_close(&teller);
    }
    bool quiet = o.quiet || (e.untold != NULL && !say_has_room());
    if (e.untold != NULL) {
        add_commands(&r, e.untold);
    }
    e.left_out = finish_commands(&r, &commands);
    end(&r, &e, quiet);
}
