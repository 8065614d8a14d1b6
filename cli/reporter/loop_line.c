/* SPDX-License-Identifier: MIT */
#include "cli/reporter/loop_line.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/base/libexec.h"
#include "cli/base/message.h"
#include "cli/reporter/pending_text.h"
#include "os/os.h"
#include "symbolizer/symbolizer.h"

#define LOOK_NS (200 * HD_NS_PER_MS)

static void read_place(struct reporter *r, struct hd_record *c, bool with_names) {
    if (with_names && r->printer.names && r->printer.symbolizer == NULL) {
        r->printer.symbolizer = symbolizer_create(&(struct symbolizer_options){.worker = libexec_look_up()});
    }
    loop_place_read(&r->shared->loop, r->options->pid, atomic_load(&c->loop.call_pc),
                    atomic_load(&c->loop.caller_pc), with_names ? r->printer.symbolizer : NULL);
}

/* "watching the loop of redis-server[8605]: epoll_wait in aeApiPoll" */
static void print_loop(struct reporter *r, struct hd_record *c) {
    char text[512];
    size_t bytes;
    read_place(r, c, true);
    const struct loop_place *l = &r->shared->loop;
    const char *place = l->function[0] != '\0' ? l->function : l->of_program ? "" : l->module;
    snprintf(text, sizeof text, "watching the loop of %.200s[%d]%s%s%s%s", r->options->name,
             (int)r->options->pid, place[0] != '\0' || l->call[0] != '\0' ? ": " : "", l->call,
             l->call[0] != '\0' && place[0] != '\0' ? " in " : "", place);
    char *line = message_text(MESSAGE_DIM, &(struct message_part){text, NULL}, 1, &bytes);
    if (line != NULL) {
        pending_text_add(&r->printer, line, bytes);
    }
    free(line);
}

uint64_t loop_line_print(struct reporter *r, uint64_t now_ns) {
    struct hd_record *c = r->records;
    bool seen = atomic_load(&c->loop.certainty) >= HD_RECORD_LOOP_LIKELY,
         wanted = !r->options->print.quiet && !r->options->print.json;
    uint64_t caller_pc = atomic_load(&c->loop.caller_pc);
    if (seen && wanted && r->printer.on_terminal && !r->shared->loop_printed) {
        r->shared->loop_printed = true;
        print_loop(r, c);
    } else if (!seen &&
               caller_pc != r->shared->loop.caller_pc) { /* for the summary: the program is gone then */
        read_place(r, c, r->options->loop != NULL);      /* a wrong function of --loop has a right one */
    }
    return !seen && r->printer.on_terminal && wanted ? now_ns + LOOK_NS : UINT64_MAX;
}
