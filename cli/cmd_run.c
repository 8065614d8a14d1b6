/* SPDX-License-Identifier: MIT
 *
 * hangdog run: watches a program that nobody rebuilt. Ordinary code.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/afterwards.h"
#include "cli/commands.h"
#include "cli/filters.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/runner.h"
#include "cli/sanitizers.h"
#include "cli/teller.h"
#include "report/spool.h"

#define THRESHOLD_MS 500
#define INTERVAL_MS 50
#define LAUNCH_THRESHOLD_NS (10 * HD_NS_PER_S)
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_RUN 126
#define PRELOAD_FILE "libhangdog-preload.so"

struct run_options {
    long threshold_ms, interval_ms;
    const char *spool, *name;
    bool json, quiet;
    char **program;
};

static void print_help(FILE *out) {
    fputs(
        "usage: hangdog run [OPTIONS] -- PROGRAM [ARGS...]\n\n"
        "Runs PROGRAM and watches the event loop of its main thread. Each hang is told on standard error as it ends,\n"
        "with the function that cost the time; its report is kept in the spool (see: hangdog list, hangdog show).\n"
        "The program's output, exit status and signals are its own. A program without an event loop runs unreported.\n\n"
        "  --threshold MS   how long a turn of the loop may last before it is a hang (default 500)\n"
        "  --interval MS    between two looks at the stack (default 50)\n"
        "  --spool DIR      where reports are kept (default $XDG_STATE_HOME/hangdog/NAME)\n"
        "  --name NAME      of the app in reports (default: the program's)\n"
        "  --json           tell each hang as one line of JSON\n"
        "  --quiet          tell nothing\n",
        out);
}

static bool parse_ms(const char *text, long min, long max, long *out) {
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < min || v > max) {
        return false;
    }
    *out = v;
    return true;
}

/* Sets o->program; NULL: end with *status. */
static void parse(int argc, char **argv, struct run_options *o, int *status) {
    static const struct option options[] = {{"threshold", required_argument, NULL, 't'},
                                            {"interval", required_argument, NULL, 'i'},
                                            {"spool", required_argument, NULL, 's'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    *o = (struct run_options){.threshold_ms = THRESHOLD_MS, .interval_ms = INTERVAL_MS};
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:h", options, NULL)) != -1;) {
        switch (c) {
        case 't':
            if (!parse_ms(optarg, 10, 3600000, &o->threshold_ms)) {
                *status = complain_usage("run", "--threshold takes milliseconds from 10 to 3600000, not '%s'",
                                         optarg);
                return;
            }
            break;
        case 'i':
            if (!parse_ms(optarg, 1, 1000, &o->interval_ms)) {
                *status =
                    complain_usage("run", "--interval takes milliseconds from 1 to 1000, not '%s'", optarg);
                return;
            }
            break;
        case 's':
            o->spool = optarg;
            break;
        case 'n':
            o->name = optarg;
            break;
        case 'j':
            o->json = true;
            break;
        case 'q':
            o->quiet = true;
            break;
        case 'h':
            print_help(stdout);
            *status = 0;
            return;
        case ':':
            *status = complain_usage("run", "option '%s' needs a value", argv[optind - 1]);
            return;
        default:
            *status = complain_usage("run", "there is no option '%s'", argv[optind - 1]);
            return;
        }
    }
    if (optind == argc) {
        *status = complain_usage("run", "no program was named");
        return;
    }
    o->program = argv + optind;
}

/* ---- what the program needs ------------------------------------------------------------------ */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Beside this command: where it was built, or where it was installed. */
static bool find_preload(char *path, size_t size) {
    static const char *const places[] = {"../lib/" PRELOAD_FILE, "../lib/hangdog/" PRELOAD_FILE,
                                         "../lib/x86_64-linux-gnu/hangdog/" PRELOAD_FILE,
                                         "../lib/aarch64-linux-gnu/hangdog/" PRELOAD_FILE};
    char own[PATH_MAX], tried[PATH_MAX + 128];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) {
        return false;
    }
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *real;
        snprintf(tried, sizeof tried, "%s/%s", own, places[i]);
        if ((real = realpath(tried, NULL)) != NULL) {
            bool fits = (size_t)snprintf(path, size, "%s", real) < size;
            free(real);
            return fits;
        }
    }
    return false;
}

static bool spool_path(const struct run_options *o, char *path, size_t size, struct problem *why) {
    if (o->spool != NULL) {
        char *real = o->spool[0] == '/' ? strdup("") : realpath(".", NULL);
        bool fits = real != NULL &&
                    (size_t)snprintf(path, size, "%s%s%s", real, real[0] != '\0' ? "/" : "", o->spool) < size;
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
static bool spool_ready(const char *path, struct problem *why) {
    struct hd_spool spool;
    int rc = hd_spool_open(&spool, path);
    if (rc == 0) {
        hd_spool_close(&spool);
        rc = access(path, W_OK | X_OK) == 0 ? 0 : -errno;
    }
    if (rc != 0) {
        problem_set(
            why,
            "cannot write reports to '%.500s': %s; make it writable, or name another folder with --spool",
            path, strerror(-rc));
    }
    return rc == 0;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void follow(struct runner *r, struct teller *t) {
    while (!r->ended) {
        uint64_t now = now_ns();
        uint64_t next = teller_tick(t, now);
        int timeout = next == UINT64_MAX ? -1 : (int)((next - now) / HD_NS_PER_MS + 1);
        struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
                               {.fd = t->notify_fd, .events = POLLIN}};
        if (poll(fds, 2, timeout) < 0 && errno != EINTR) {
            break;
        }
        if (fds[1].revents != 0) {
            teller_handle(t);
        }
        runner_handle_signals(r);
    }
}

static void sum_up(const struct runner *r, const struct run_options *o) {
    struct hd_record *c = r->record;
    char ran[RENDER_DURATION_BYTES], hung[RENDER_DURATION_BYTES];
    uint64_t ran_ns = now_ns() - c->options.started_ns;
    uint64_t hangs = atomic_load(&c->hangs);
    int error = atomic_load(&c->spool_error);
    if (error != 0) {
        complain("%llu reports could not be written to '%.500s': %s; the hangs were %llu",
                 (unsigned long long)atomic_load(&c->spool_failed), c->options.spool, strerror(error),
                 (unsigned long long)hangs);
    }
    render_duration(ran, (int64_t)ran_ns);
    render_duration(hung, (int64_t)atomic_load(&c->hang_ns));
    fprintf(stderr, "hangdog: %s ran for %s", o->name, ran);
    if (atomic_load(&c->attached) == 0) {
        fprintf(
            stderr,
            "; it could not be watched: it did not load %s (a static program, another architecture or libc, or "
            "one that runs with privileges)\n",
            PRELOAD_FILE);
    } else if (atomic_load(&c->unwatched) == HD_UNWATCHED_FILTER) {
        fprintf(
            stderr,
            "; it %s be watched: a seccomp filter is on all its threads, and could end it for what ours do\n",
            atomic_load(&c->attached) == 1 ? "could not" : "could no longer");
    } else if (atomic_load(&c->unwatched) == HD_UNWATCHED_FAILED) {
        fprintf(stderr, "; it could not be watched: it had no memory or no thread left for the monitor\n");
    } else if (atomic_load(&c->loop_seen) == 0) {
        fprintf(stderr, "; no event loop was seen\n");
    } else if (hangs == 0) {
        fprintf(stderr, "; no hang of %ld ms or more\n", o->threshold_ms);
    } else {
        fprintf(stderr, "; %llu hang%s, %s in all; see: hangdog show latest --spool %s\n",
                (unsigned long long)hangs, hangs == 1 ? "" : "s", hung, c->options.spool);
    }
}

static int not_started(const struct run_options *o, int rc) {
    complain("cannot run '%s': %s; %s", o->program[0], strerror(-rc),
             rc == -ENOENT ? "check the name and PATH" : "check that it is a program that you may run");
    return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static void fill_options(struct hd_record_options *to, const struct run_options *o, const char *spool) {
    to->threshold_ns = (uint64_t)o->threshold_ms * HD_NS_PER_MS;
    to->interval_ns = (uint64_t)o->interval_ms * HD_NS_PER_MS;
    to->launch_threshold_ns = LAUNCH_THRESHOLD_NS;
    to->seccomp_filters = filters_tried();
    to->reports_per_day = to->reports_per_fingerprint = UINT32_MAX;
    snprintf(to->app_name, sizeof to->app_name, "%s", o->name);
    snprintf(to->spool, sizeof to->spool, "%s", spool);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    hd_uuid_make(to->session, (uint64_t)wall.tv_sec * HD_NS_PER_S + (uint64_t)wall.tv_nsec);
}

int cmd_run(int argc, char **argv) {
    struct run_options o;
    struct problem why;
    struct runner r;
    struct teller teller = {0};
    char spool[4 * HD_RECORD_STRING], own[PATH_MAX], preload[2 * PATH_MAX];
    int rc = 0;
    parse(argc, argv, &o, &rc);
    if (o.program == NULL) {
        return rc;
    }
    o.name = o.name != NULL ? o.name : base_name(o.program[0]);
    if (!spool_path(&o, spool, sizeof spool, &why) || !spool_ready(spool, &why)) {
        return complain("%s", why.text);
    }
    if (!find_preload(own, sizeof own)) {
        return complain("cannot watch '%s': %s is not beside this command; install both together",
                        o.program[0], PRELOAD_FILE);
    }
    preload_list(preload, sizeof preload, own, getenv("LD_PRELOAD"), o.program[0]);
    if ((rc = runner_prepare(&r)) != 0) {
        return complain("cannot watch '%s': %s; close some programs and try again", o.program[0],
                        strerror(-rc));
    }
    fill_options(&r.record->options, &o, spool);
    teller.json = o.json;
    teller.quiet = o.quiet;
    if (teller_open(&teller, r.record->options.spool, r.record->options.session) != 0) {
        return complain("cannot watch '%s': out of memory; close some programs and try again", o.program[0]);
    }
    if ((rc = runner_start(&r, o.program, preload)) != 0) {
        return not_started(&o, rc);
    }
    follow(&r, &teller);
    afterwards(&r);
    teller_finish(&teller);
    teller_close(&teller);
    if (!o.quiet) {
        sum_up(&r, &o);
    }
    runner_end_alike(r.status);
}
