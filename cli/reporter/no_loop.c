/* SPDX-License-Identifier: MIT */
#include "cli/reporter/no_loop.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/base/duration.h"
#include "cli/base/message.h"
#include "cli/base/old_libc.h"
#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/render/render.h"
#include "cli/reporter/main_thread_text.h"
#include "cli/reporter/report_lines.h"
#include "os/os.h"

#define COMMAND_BYTES 1024
#define TEXT_BYTES 2048
#define REASON_BYTES 800
#define REMEDIES_MAX 3
#define START_NS (5 * HD_NS_PER_S) /* a program that fails later has started */

/* The parts of one message: the first is what happened, each other one a reason with what helps. */
struct remedies {
    char text[1 + REMEDIES_MAX][TEXT_BYTES], command[1 + REMEDIES_MAX][COMMAND_BYTES];
    struct message_part part[1 + REMEDIES_MAX];
    size_t count;
};

/* "sh -c 'python3 aio.py'"; of a long command line only the first word. */
static void put_program(char *to, size_t size, const struct reporter_options *o) {
    char word[COMMAND_BYTES];
    size_t n = 0;
    for (char *const *at = o->program; *at != NULL; at++) {
        quote_word(word, sizeof word, *at);
        if (n + strlen(word) + 2 > size / 2) {
            quote_word(word, sizeof word, o->program[0]);
            snprintf(to, size, "%s ...", word);
            return;
        }
        n += (size_t)snprintf(to + n, size - n, "%s%s", n > 0 ? " " : "", word);
    }
}

/* "hangdog run OPTIONS --spool DIR -- PROGRAM" */
static void put_run(char *to, size_t size, const struct reporter_options *o, const char *options) {
    char program[COMMAND_BYTES / 2];
    put_program(program, sizeof program, o);
    snprintf(to, size, "%s run %s%s -- %s", shell_own_command(), options, o->print.spool_words, program);
}

static void add(struct remedies *m, const char *text, const char *command) {
    if (m->count <= REMEDIES_MAX) {
        snprintf(m->text[m->count], TEXT_BYTES, "%s", text);
        snprintf(m->command[m->count], COMMAND_BYTES, "%s", command);
        m->part[m->count] = (struct message_part){
            m->text[m->count], m->command[m->count][0] != '\0' ? m->command[m->count] : NULL};
        m->count++;
    }
}

static void add_run(struct remedies *m, const struct reporter *r, const char *text, const char *options) {
    char command[COMMAND_BYTES];
    put_run(command, sizeof command, r->options, options);
    add(m, text, command);
}

/* "--loop select": the module from which most of the waits came. */
static void put_loop_option(char *to, size_t size, const struct reporter *r) {
    char word[80];
    quote_word(word, sizeof word, r->shared->loop.module);
    snprintf(to, size, "--loop %s", r->shared->loop.module[0] != '\0' ? word : "MODULE[:FUNCTION]");
}

/* ---- no loop ---------------------------------------------------------------------------------- */

/* True: the command changes its child's environment, so the user must start hangdog inside of it. */
static bool starts_within(char *const *program) {
    static const char *const names[] = {"sudo", "doas", "su", "runuser", "pkexec"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(base_name(program[0]), names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "sudo -u nobody hangdog run -- python3 app.py" */
static void put_run_within(char *to, size_t size, const struct reporter_options *o, uint32_t at) {
    char word[COMMAND_BYTES];
    size_t n = 0;
    for (uint32_t i = 0; o->program[i] != NULL && n < size; i++) {
        quote_word(word, sizeof word, o->program[i]);
        n += (size_t)snprintf(to + n, size - n, "%s", i > 0 ? " " : "");
        n += n < size && i == at ? (size_t)snprintf(to + n, size - n, "%s run -- ", shell_own_command()) : 0;
        n += n < size ? (size_t)snprintf(to + n, size - n, "%s", word) : 0;
    }
}

static bool add_child(struct remedies *m, const struct reporter *r, const char *before) {
    const struct reporter_options *o = r->options;
    uint32_t count;
    const struct child_sample *child = child_samples_loop(&r->shared->children, &count);
    char text[TEXT_BYTES], command[COMMAND_BYTES];
    if (child == NULL || o->follow) {
        return false;
    }
    if (count == 1) {
        snprintf(text, sizeof text, "%.1200s; its child %s was not watched:", before, child->name);
    } else {
        snprintf(text, sizeof text, "%.1200s; its %u children, as %s, were not watched:", before, count,
                 child->name);
    }
    if (starts_within(o->program) && child->word != 0) {
        put_run_within(command, sizeof command, o, child->word);
    } else {
        put_run(command, sizeof command, o, "--follow");
    }
    add(m, text, command);
    return true;
}

bool no_loop_print_children(const struct reporter *r, const char *before) {
    struct remedies m = {.count = 0};
    char text[TEXT_BYTES], command[COMMAND_BYTES];
    if (child_samples_page(&r->shared->children) != NULL) {
        snprintf(
            text, sizeof text,
            "%.1200s; hangs of its pages cannot be seen: their processes wait as for another thread. All "
            "stacks of one that hangs:",
            before);
        snprintf(command, sizeof command, "%s dump PID", shell_own_command());
        add(&m, text, command);
    } else if (!add_child(&m, r, before)) {
        return false;
    }
    message_print(MESSAGE_WARNING, m.part, m.count);
    return true;
}

/* "ended with status 1", "was killed by SIGSEGV"; false: it ended well. */
static bool put_failure(char *to, size_t size, int status) {
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        snprintf(to, size, "was killed by SIG%s", name != NULL ? name : "?");
    } else {
        snprintf(to, size, "ended with status %d", WEXITSTATUS(status));
    }
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

bool no_loop_print_start(const struct reporter *r, uint64_t ran_ns, const char *ran) {
    struct remedies m = {.count = 0};
    char how[64], text[TEXT_BYTES];
    uint32_t count;
    if (ran_ns > START_NS || atomic_load(&r->records->loop.waits) != 0 ||
        child_samples_loop(&r->shared->children, &count) != NULL ||
        r->shared->main_thread.spent_ns[MAIN_THREAD_CHILD] != 0 ||
        !put_failure(how, sizeof how, r->shared->end.status)) {
        return false;
    }
    snprintf(text, sizeof text,
             "%.255s %s after %s, before it waited: no event loop, so hangs could not be seen",
             r->options->name, how, ran);
    add(&m, text, "");
    message_print(MESSAGE_WARNING, m.part, m.count);
    return true;
}

static void add_remedies(struct remedies *m, const struct reporter *r, const char reason[REASON_BYTES]) {
    const struct main_thread *t = &r->shared->main_thread;
    const struct reporter_options *o = r->options;
    enum main_thread_state most = main_thread_most(t);
    char text[TEXT_BYTES], options[96];
    bool waited = atomic_load(&r->records->loop.waits) != 0, child = t->spent_ns[MAIN_THREAD_CHILD] != 0;
    if (add_child(m, r, reason)) {
        return;
    }
    if (child && !o->follow) {
        snprintf(text, sizeof text, "%s; the loop may be in the child:", reason);
        add_run(m, r, text, "--follow");
    } else if (most == MAIN_THREAD_LOCK && t->threads > 0) {
        for (uint32_t i = 0; i < t->threads; i++) {
            char name[64];
            quote_word(name, sizeof name, t->thread[i]);
            snprintf(options, sizeof options, "--thread %.60s", name);
            snprintf(text, sizeof text, "%s; the loop may be in another thread:", reason);
            add_run(m, r, i == 0 ? text : "or", options);
        }
    } else if (waited) {
        snprintf(text, sizeof text, "%s; if those are its loop, name what calls:", reason);
        put_loop_option(options, sizeof options, r);
        add_run(m, r, text, options);
    } else if (most == MAIN_THREAD_RAN || most == MAIN_THREAD_SLEPT) {
        char program[COMMAND_BYTES / 2], command[COMMAND_BYTES];
        put_program(program, sizeof program, o);
        snprintf(command, sizeof command, "perf record -g -- %s", program);
        snprintf(text, sizeof text, "%s; this is no event-loop program; try perf:", reason);
        add(m, text, command);
    } else {
        add(m, reason, "");
    }
}

void no_loop_print(const struct reporter *r, const char *ran) {
    struct remedies m = {.count = 0};
    char text[TEXT_BYTES], reason[REASON_BYTES];
    main_thread_end(&r->shared->main_thread, r->shared->end.ended_ns);
    snprintf(text, sizeof text, "%.255s ran for %s: no event loop, so hangs could not be seen",
             r->options->name, ran);
    add(&m, text, "");
    main_thread_text(reason, sizeof reason, &r->shared->main_thread, atomic_load(&r->records->loop.waits),
                     atomic_load(&r->records->loop.waited_ns));
    add_remedies(&m, r, reason);
    message_print(MESSAGE_WARNING, m.part, m.count);
}

/* ---- --loop ----------------------------------------------------------------------------------- */

/* "; most of these waits came from wait_for_events in my-server"; empty: not known. */
static void put_caller(char *to, size_t size, const struct loop_place *l) {
    bool named = l->function[0] != '\0';
    to[0] = '\0';
    if (l->module[0] != '\0') {
        snprintf(to, size, "; most of these waits came from %s%s%s:", named ? l->function : "",
                 named ? " in " : "", l->module);
    }
}

void no_loop_print_option(const struct reporter *r, const char *ran) {
    struct remedies m = {.count = 0};
    const struct loop_place *l = &r->shared->loop;
    bool waited = atomic_load(&r->records->loop.waits) != 0;
    char text[TEXT_BYTES], reason[REASON_BYTES], caller[256], option[96];
    main_thread_end(&r->shared->main_thread, r->shared->end.ended_ns);
    snprintf(text, sizeof text,
             "%.255s ran for %s: no wait came from %.255s (--loop), so hangs could not be seen",
             r->options->name, ran, r->options->loop);
    add(&m, text, "");
    main_thread_text(reason, sizeof reason, &r->shared->main_thread, atomic_load(&r->records->loop.waits),
                     atomic_load(&r->records->loop.waited_ns));
    put_caller(caller, sizeof caller, l);
    if (waited && caller[0] != '\0') {
        snprintf(text, sizeof text, "%s%s", reason, caller);
        put_loop_option(option, sizeof option, r);
        add_run(&m, r, text, option);
    } else {
        add(&m, reason, "");
    }
    message_print(MESSAGE_WARNING, m.part, m.count);
}

/* ---- a loop that is not certain ---------------------------------------------------------------- */

/* "2.0 s in main (first.py:4)" of the longest hang that was dropped. */
static void put_dropped(char *to, size_t size, struct reporter *r, const struct settle_dropped *dropped) {
    char lasted[RENDER_DURATION_BYTES];
    json_t *report = json_loadb(dropped->text, dropped->bytes, 0, NULL);
    if (report != NULL) {
        json_decref(report_lines_name(&r->printer, report, NULL));
    }
    char *function = report != NULL ? report_lines_function(report) : NULL;
    bool named = function != NULL && function[0] != '\0';
    snprintf(to, size, "%s%s%.300s", render_duration(lasted, (int64_t)dropped->longest_ns),
             named ? " in " : "", named ? function : "");
    free(function);
    json_decref(report);
}

void no_loop_print_uncertain(const struct reporter *r, const char *ran) {
    const struct settle_dropped *dropped = &r->shared->dropped;
    char what[TEXT_BYTES / 4], waited[RENDER_DURATION_BYTES], threshold[RENDER_DURATION_BYTES], why[256];
    unsigned long long waits = atomic_load(&r->records->loop.waits);
    uint64_t waited_ns = atomic_load(&r->records->loop.waited_ns);
    struct remedies m = {.count = 0};
    char text[TEXT_BYTES];
    render_duration(waited, (int64_t)waited_ns);
    if (waits < 3 || waited_ns < 100 * DURATION_MS) {
        snprintf(why, sizeof why, "%llu wait%s, %s (3 and 100 ms are needed)", waits,
                 cli_plural((int64_t)waits, "", "s"), waited);
    } else {
        snprintf(why, sizeof why, "%llu waits, %s, and it did not return to them", waits, waited);
    }
    if (dropped->count == 0) {
        snprintf(text, sizeof text,
                 "%.255s ran for %s: no hang of %s or more, but its loop was not certain: %s",
                 r->options->name, ran, render_duration(threshold, r->options->threshold_ns), why);
        add(&m, text, "");
        if (!no_loop_print_children(r, text)) {
            message_print(MESSAGE_WARNING, m.part, m.count);
        }
        return;
    }
    put_dropped(what, sizeof what, (struct reporter *)(uintptr_t)r, dropped);
    snprintf(
        text, sizeof text,
        "%.255s ran for %s: %u possible hang%s not reported: %s. Its loop was not certain: %s. Run it for "
        "longer, or name the loop:",
        r->options->name, ran, dropped->count, cli_plural(dropped->count, " was", "s were"), what, why);
    char options[96];
    put_loop_option(options, sizeof options, r);
    add_run(&m, r, text, options);
    message_print(MESSAGE_WARNING, m.part, m.count);
}
