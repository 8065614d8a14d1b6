/* SPDX-License-Identifier: MIT */
#include "cli/reporter/summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/reports.h"
#include "cli/render/render.h"
#include "cli/settle/liveness.h"
#include "report/spool.h"

/* ---- what was not watched -------------------------------------------------------------------- */

/* As is said of one, or of several; `ever`: it was watched before. NULL: it was to its end. */
static const char *unwatched_words(enum hd_unwatched why, bool ever) {
    switch (why) {
    case HD_UNWATCHED_FILTER:
        return ever ? "could no longer be watched: it installs a seccomp filter, which could end it for what "
                      "ours do"
                    : "could not be watched: a seccomp filter is on all threads, and could end them for what "
                      "ours do";
    case HD_UNWATCHED_EXEC:
        return "became a program that could not be watched (a static one, of another architecture or C library, with privileges, under a seccomp filter, or by a user who may not read our library)";
    case HD_UNWATCHED_ALONE:
        return "could no longer be watched: the threads have different rights";
    case HD_UNWATCHED_ROOT:
        return "could no longer be watched: the root directory is another, from where neither /proc nor the "
               "spool can be reached";
    case HD_UNWATCHED_FAILED:
        return "could not be watched: there was no memory or no thread left for the monitor";
    case HD_UNWATCHED_TABLE:
        return "could not be watched: the kernel gave our threads no descriptor table of their own (allow "
               "close_range, or unshare before Linux 5.9, in the container's seccomp profile)";
    case HD_UNWATCHED_NOT:
    case HD_UNWATCHED_NO_WAIT:
    case HD_UNWATCHED_KINDS:
    default:
        return NULL;
    }
}

static const char *unwatched_why(const struct hd_record *c) {
    return unwatched_words((enum hd_unwatched)atomic_load(&c->unwatched), atomic_load(&c->attached) != 1);
}

static bool is_whole(const struct reporter *r) {
    return unwatched_why(r->records) == NULL && atomic_load(&r->records->loop_seen) != HD_RECORD_NO_LOOP;
}

static bool is_child(const struct hd_record *c) {
    return atomic_load(&c->owner) != 0 && atomic_load(&c->superseded_ns) == 0 && c->options.of_child;
}

static void tell_unwatched_children(const struct reporter *r) {
    unsigned count[HD_UNWATCHED_KINDS] = {[HD_UNWATCHED_EXEC] = atomic_load(&r->records->children_unwatched)};
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        uint32_t why = is_child(&r->records[i]) ? atomic_load(&r->records[i].unwatched) : HD_UNWATCHED_NOT;
        if (why < HD_UNWATCHED_KINDS) {
            count[why]++;
        }
    }
    for (unsigned why = 0; why < HD_UNWATCHED_KINDS; why++) {
        const char *words = unwatched_words((enum hd_unwatched)why, true);
        if (words != NULL && count[why] > 0) {
            complain("%u %s that %s followed %s", count[why], by_count(count[why], "child", "children"),
                     by_count(count[why], "was", "were"), words);
        }
    }
}

/* ---- the closing lines ------------------------------------------------------------------------ */

/* A bit for each name of --thread: such a thread waited, in any image of the program or child of it. */
static uint32_t threads_seen(const struct reporter *r) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        seen |= atomic_load(&r->records[i].threads_seen);
    }
    return seen;
}

/* What was asked for and is not there. */
static void tell_what_is_missing(const struct reporter *r, const struct reporter_options *o) {
    struct hd_record *c = r->records;
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
    if (atomic_load(&c->attached) != 0 && !proc_is_ours()) {
        complain(
            "/proc is of another namespace of processes: hangs have no stack, and those that wait no cause; "
            "mount its own (mount -t proc proc /proc, or unshare --mount-proc)");
    }
    for (size_t i = 0; i < o->threads->count && atomic_load(&c->attached) != 0; i++) {
        if ((threads_seen(r) >> i & 1) == 0) {
            complain("--thread %s: no such thread waited in a loop", o->threads->text[i]);
        }
    }
}

/* The spool did not take its end. */
static bool is_unfinished(const char *spool, const char *id) {
    char path[4096];
    struct problem why;
    snprintf(path, sizeof path, "%s/%s.json", spool, id);
    json_t *report = report_load(path, &why);
    bool open = render_is_open(report);
    json_decref(report);
    return open;
}

/* "5 times, 1.2 s in all" */
static void say_waits(char *to, size_t size, const struct hd_record *c) {
    char waited[RENDER_DURATION_BYTES];
    unsigned long long waits = atomic_load(&c->waits);
    render_duration(waited, (int64_t)atomic_load(&c->waited_ns));
    snprintf(to, size, "%llu time%s, %s in all", waits, by_count((int64_t)waits, "", "s"), waited);
}

/* Why, in figures, and what fits. */
static void say_no_loop(char *to, size_t size, const struct hd_record *c, const struct reporter_options *o) {
    char waits[96];
    say_waits(waits, sizeof waits, c);
    if (atomic_load(&c->waits) != 0) {
        snprintf(to, size,
                 "no event loop was seen: the main thread waited %s, and never as a loop does; name the "
                 "loop: %.500s run --loop MODULE[:FUNCTION]",
                 waits, own_command());
    } else if (o->follow) {
        snprintf(to, size,
                 "no event loop was seen: the main thread never waited in poll, select or epoll_wait; watch "
                 "another thread: %.500s run --thread NAME",
                 own_command());
    } else {
        snprintf(to, size,
                 "no event loop was seen: the main thread never waited in poll, select or epoll_wait; if a "
                 "child has the loop: %.500s run --follow",
                 own_command());
    }
}

static void say_no_hang(char *to, size_t size, const struct hd_record *c, const struct reporter_options *o) {
    char waits[96];
    unsigned long long withdrawn = atomic_load(&c->withdrawn);
    if (atomic_load(&c->loop_seen) != HD_RECORD_LOOP_UNSURE) {
        snprintf(to, size, "no hang of %ld ms or more", (long)(o->threshold_ns / HD_NS_PER_MS));
        return;
    }
    say_waits(waits, sizeof waits, c);
    int n = snprintf(to, size,
                     "no event loop was seen for certain: the main thread waited %s, and no hang of %ld ms "
                     "or more",
                     waits, (long)(o->threshold_ns / HD_NS_PER_MS));
    if (withdrawn != 0 && n > 0 && (size_t)n < size) {
        snprintf(to + n, size - (size_t)n,
                 " is sure (%llu possible one%s); run it for longer, or name the loop: %.400s run --loop "
                 "MODULE[:FUNCTION]",
                 withdrawn, by_count((int64_t)withdrawn, "", "s"), own_command());
    }
}

static void sum_up(const struct reporter *r, const struct reporter_options *o, const char *last) {
    struct hd_record *c = r->records;
    char ran[RENDER_DURATION_BYTES], hung[RENDER_DURATION_BYTES], how[1024],
        spool[4 * sizeof c->options.spool];
    uint64_t ran_ns = r->shared->end.ended_ns - c->options.started_ns;
    unsigned long long hangs = atomic_load(&c->hangs);
    render_duration(ran, (int64_t)ran_ns);
    render_duration(hung, (int64_t)atomic_load(&c->hang_ns));
    quote_word(spool, sizeof spool, c->options.spool);
    const char *why = unwatched_why(c);
    uint32_t seen = atomic_load(&c->loop_seen);
    if (atomic_load(&c->attached) == 0) {
        snprintf(how, sizeof how, "it could not be watched: it did not load libhangdog-preload.so");
    } else if (why != NULL) {
        snprintf(how, sizeof how, "it %s", why);
    } else if (seen == HD_RECORD_NO_LOOP && o->loop != NULL) {
        snprintf(how, sizeof how, "--loop %.200s: no wait of it was seen", o->loop);
    } else if (seen == HD_RECORD_NO_LOOP) {
        say_no_loop(how, sizeof how, c, o);
    } else if (hangs == 0) {
        say_no_hang(how, sizeof how, c, o);
    } else {
        snprintf(how, sizeof how, "%llu hang%s, %s in all", hangs, by_count((int64_t)hangs, "", "s"), hung);
    }
    bool shown = hangs != 0 && why == NULL && seen != HD_RECORD_NO_LOOP && last[0] != '\0';
    const char *see = shown && is_unfinished(c->options.spool, last) ? ", the newest report unfinished; see: "
                      : shown                                        ? "; see: "
                                                                     : "";
    complain("%.255s ran for %s; %s%s%s%s%s%s%s", o->name, ran, how, see, shown ? own_command() : "",
             shown ? " show " : "", shown ? last : "", shown && o->spool_words[0] != '\0' ? " --spool " : "",
             shown && o->spool_words[0] != '\0' ? spool : "");
}

static void tell_children(const struct reporter *r) {
    unsigned all = 0, go_on = 0;
    char numbers[128] = "";
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &r->records[i];
        size_t n = strlen(numbers);
        pid_t pid = is_child(c) ? liveness_pid(c) : 0;
        all += is_child(c);
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

static void print_survivors(const struct reporter *r, const struct reporter_options *o) {
    pid_t pid = r->shared->survivor;
    if (pid != 0) {
        complain("%s has left process %d behind, which goes on and %s", o->name, (int)pid,
                 o->follow ? "is watched once it waits; its reports are kept, and told no more"
                           : "is not watched; --follow watches it too");
    }
}

/* The newest report of this run that is still in the spool; empty: none. */
static void find_last(const struct reporter *r, char id[37]) {
    id[0] = '\0';
    for (unsigned i = 0; i < printed_count(&r->shared->printed) && !r->options->not_kept; i++) {
        char path[4096];
        const char *one = r->shared->printed.report[i].id;
        snprintf(path, sizeof path, "%s/%s.json", spool_folder(r->options->decided->spool), one);
        if (strcmp(one, id) > 0 && access(path, F_OK) == 0) {
            snprintf(id, 37, "%s", one);
        }
    }
}

static void print_skipped(const struct reporter *r, unsigned long skipped) {
    if (skipped > 0) {
        complain("--on-hang skipped %lu report%s: %s", skipped, by_count((int64_t)skipped, "", "s"),
                 atomic_load(&r->shared->hurry) ? "a signal came" : "5 s were over");
    }
    if (r->unprinted > 0) {
        complain("%u hang%s not shown: out of memory; try: %s list --no-symbols%s", r->unprinted,
                 by_count(r->unprinted, "", "s"), own_command(), r->options->spool_words);
    }
}

void summary_print(const struct reporter *r, unsigned long skipped) {
    const struct reporter_options *o = r->options;
    char last[37];
    print_skipped(r, skipped);
    print_survivors(r, o);
    tell_what_is_missing(r, o);
    /* a session of an image before says nothing of the last one */
    if (!atomic_load(&r->shared->session_printed) || !is_whole(r)) {
        find_last(r, last);
        sum_up(r, o, last);
    }
    if (o->follow) {
        tell_unwatched_children(r);
        tell_children(r);
    }
}
