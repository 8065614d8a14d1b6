/* SPDX-License-Identifier: MIT */
#include "cli/attach/attach_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/error.h"
#include "cli/base/message.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/render/render.h"
#include "cli/reporter/hang_rows.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/main_thread_text.h"
#include "os/os.h"
#include "report/spool.h"

#define TEXT_BYTES 2048

/* The sums of all processes. */
struct sums {
    uint32_t processes, with_loop, doubtful, with_hangs;
    uint64_t hangs, hang_ns, stalls, stall_ns, lost, removed;
    uint32_t unwatched; /* threads */
    int error;          /* of a spool */
    const struct watched_entry *failed, *full;
    const struct watched_entry *without; /* the first without a loop */
};

static struct sums sum_up(const struct watched_list *l) {
    struct sums s = {.processes = atomic_load(&l->count)};
    for (uint32_t i = 0; i < s.processes; i++) {
        const struct watched_entry *e = &l->entry[i];
        uint32_t certainty = atomic_load(&e->certainty);
        bool hung = atomic_load(&e->hangs) > 0;
        s.with_loop += certainty != HD_RECORD_NO_LOOP || hung;
        s.doubtful += certainty == HD_RECORD_LOOP_DOUBTFUL;
        s.without = s.without == NULL && certainty == HD_RECORD_NO_LOOP && !hung ? e : s.without;
        s.hangs += atomic_load(&e->hangs);
        s.hang_ns += atomic_load(&e->hang_ns);
        s.with_hangs += hung;
        s.stalls += atomic_load(&e->pool_stalls);
        s.stall_ns += atomic_load(&e->pool_stall_ns);
        s.lost += atomic_load(&e->lost_reports);
        s.removed += atomic_load(&e->removed_reports);
        s.unwatched += atomic_load(&e->unwatched);
        s.failed = atomic_load(&e->spool_error) != 0 ? e : s.failed;
        s.full = atomic_load(&e->removed_reports) != 0 ? e : s.full;
    }
    return s;
}

/* "watched redis-server[8605] for 18.1 s", "watched 4 processes for 18.1 s" */
static void put_head(char *to, size_t size, const struct watched_list *l, const struct sums *s) {
    const struct watched_entry *e = &l->entry[0];
    uint64_t from_ns = s->processes == 1 ? e->since_ns : l->started_ns;
    uint64_t end_ns = s->processes == 1 ? atomic_load(&e->ended_ns) : l->ended_ns;
    char time[RENDER_DURATION_BYTES];
    render_duration(time, (int64_t)(end_ns > from_ns ? end_ns - from_ns : 0));
    if (s->processes == 1) {
        snprintf(to, size, "watched %.100s[%d] for %s%s", e->options.app_name, (int)e->pid, time,
                 atomic_load(&e->left) ? "" : ", until it ended");
    } else {
        snprintf(to, size, "watched %u processes for %s", s->processes + atomic_load(&l->more), time);
    }
}

/* " (29%)" of the time of one process; of several, " in 2 processes": their times overlap. */
static void put_share(char *to, size_t size, const struct watched_list *l, const struct sums *s) {
    const struct watched_entry *e = &l->entry[0];
    uint64_t time_ns = atomic_load(&e->ended_ns) - e->since_ns;
    to[0] = '\0';
    if (s->processes == 1 && s->hang_ns <= time_ns) {
        snprintf(to, size, " (%.0f%%)", time_ns > 0 ? 100.0 * (double)s->hang_ns / (double)time_ns : 0.0);
    } else if (s->with_hangs > 1) {
        snprintf(to, size, " in %u processes", s->with_hangs);
    }
}

/* "; 2 of 4 processes had no event loop, as nginx[71]"; empty: all had one. */
static void put_without(char *to, size_t size, const struct sums *s) {
    to[0] = '\0';
    if (s->processes > 1 && s->without != NULL) {
        snprintf(to, size, "; %u of %u had no event loop, as %.60s[%d]", s->processes - s->with_loop,
                 s->processes, s->without->options.app_name, (int)s->without->pid);
    }
}

static void put_stalls(char *to, size_t size, const struct attach_result *r, const struct sums *s,
                       const char *word) {
    char time[RENDER_DURATION_BYTES];
    uint64_t stalls = s->stalls + r->printer->open_stalls;
    to[0] = '\0';
    if (stalls > 0) {
        snprintf(to, size, ", %s %" PRIu64 " pool stall%s of %s%s", word, stalls,
                 cli_plural((int64_t)stalls, "", "s"),
                 render_duration(time, (int64_t)(s->stall_ns + r->printer->open_stall_ns)),
                 stalls > 1 ? " in all" : "");
    }
}

void attach_summary_reason(char *to, size_t size, const struct watched_entry *e) {
    char spent[256];
    main_thread_spent_text(spent, sizeof spent, &e->main_thread);
    char wait[160] = "as a loop does";
    if (e->options.loop[0] != '\0') {
        snprintf(wait, sizeof wait, "in '%.100s', which --loop names", e->options.loop);
    }
    snprintf(to, size, "no thread waited %s%s%s", wait, spent[0] != '\0' ? "; the main thread " : "", spent);
}

/* One process without a loop: why, and what helps. */
static void print_no_loop(const struct attach_result *r, const char *head) {
    struct watched_entry *e = &r->list->entry[0];
    const char *end = "; all stacks now:";
    char text[TEXT_BYTES], reason[512], command[256];
    snprintf(text, sizeof text, "%s: no event loop, so hangs could not be seen", head);
    main_thread_end(&e->main_thread, atomic_load(&e->ended_ns));
    if (atomic_load(&e->noted)) {
        snprintf(reason, sizeof reason, "%s", e->note);
    } else {
        attach_summary_reason(reason, sizeof reason, e);
    }
    bool child = main_thread_most(&e->main_thread) == MAIN_THREAD_CHILD && e->main_thread.child != 0;
    if (child) {
        snprintf(command, sizeof command, "%s attach %d%s", shell_own_command(), (int)e->main_thread.child,
                 r->printer->options->spool_words);
        end = "; the loop may be in the child:";
    } else {
        snprintf(command, sizeof command, "%s dump %d", shell_own_command(), (int)e->pid);
    }
    bool left = atomic_load(&e->left);
    if (left) {
        snprintf(reason + strlen(reason), sizeof reason - strlen(reason), "%s", end);
    }
    const struct message_part parts[] = {{text, NULL}, {reason, left ? command : NULL}};
    message_print(MESSAGE_WARNING, parts, 2);
}

static void print_hangs(const struct attach_result *r, const struct sums *s, const char *head) {
    const struct hang_table *table = &r->printer->shared->table;
    char lost[RENDER_DURATION_BYTES], share[48], stalls[96], without[128], text[TEXT_BYTES];
    put_share(share, sizeof share, r->list, s);
    put_stalls(stalls, sizeof stalls, r, s, "and");
    put_without(without, sizeof without, s);
    snprintf(text, sizeof text, "%s: %" PRIu64 " hang%s, %s lost%s%s%s%s", head, s->hangs,
             cli_plural((int64_t)s->hangs, "", "s"), render_duration(lost, (int64_t)s->hang_ns), share,
             table->rows == 0 ? ", without a report" : "", stalls, without);
    message_print(MESSAGE_BOLD, &(struct message_part){text, NULL}, 1);
    if (table->rows > 0) {
        hang_rows_print(table, true, r->printer->colour);
    }
}

static void print_no_hang(const struct attach_result *r, const struct sums *s, const char *head) {
    char threshold[RENDER_DURATION_BYTES], stalls[96], without[128], text[TEXT_BYTES], doubt[96] = "";
    put_stalls(stalls, sizeof stalls, r, s, "but");
    put_without(without, sizeof without, s);
    if (s->processes == 1 && s->doubtful == 1) {
        snprintf(doubt, sizeof doubt, ", but its loop was not certain: %" PRIu64 " waits",
                 atomic_load(&r->list->entry[0].waits));
    }
    snprintf(text, sizeof text, "%s: no hang of %s or more%s%s%s", head,
             render_duration(threshold, r->threshold_ns), stalls, doubt, without);
    const struct message_part parts[] = {
        {text, NULL}, {"hangs that ran on a CPU could not be seen; why:", r->list->better}};
    bool blind = r->list->blind;
    message_print(doubt[0] != '\0' || blind ? MESSAGE_WARNING : MESSAGE_PLAIN, parts, blind ? 2 : 1);
}

static void print_missing(const struct attach_result *r, const struct sums *s) {
    json_file_print_missing(r->printer);
    if (s->failed != NULL && s->lost > 0) {
        print_error("%" PRIu64 " report%s lost: cannot write '%.500s': %s", s->lost,
                    cli_plural((int64_t)s->lost, "", "s"), s->failed->options.spool,
                    strerror(atomic_load(&s->failed->spool_error)));
    }
    if (s->unwatched > 0) {
        print_error("%u thread%s not watched: one user cannot take the room of all others", s->unwatched,
                    cli_plural(s->unwatched, " was", "s were"));
    }
    if (s->full != NULL) {
        print_error("removed the %" PRIu64 " oldest report%s in '%.500s' (limit %d, %llu MiB)", s->removed,
                    cli_plural((int64_t)s->removed, "", "s"), s->full->options.spool, HD_SPOOL_REPORTS,
                    HD_SPOOL_BYTES >> 20);
    }
}

void attach_summary_print(const struct attach_result *r) {
    struct sums s = sum_up(r->list);
    char head[256];
    print_missing(r, &s);
    if (s.processes == 0 || r->printer->options->json) {
        return;
    }
    put_head(head, sizeof head, r->list, &s);
    if (s.hangs > 0) {
        print_hangs(r, &s, head);
    } else if (s.processes == 1 && s.without != NULL) {
        print_no_loop(r, head);
    } else if (s.with_loop == 0) {
        char text[TEXT_BYTES];
        snprintf(text, sizeof text, "%s: none had an event loop, so hangs could not be seen", head);
        message_print(MESSAGE_WARNING, &(struct message_part){text, NULL}, 1);
    } else {
        print_no_hang(r, &s, head);
    }
}
