/* SPDX-License-Identifier: MIT */
#include "cli/reporter/loop_line.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/base/message.h"
#include "cli/reporter/pending_text.h"
#include "cli/reporter/printer_names.h"
#include "os/os.h"

#define LOOK_NS (200 * HD_NS_PER_MS)

void loop_line_read(struct printer *p, struct loop_place *l, pid_t pid, uint64_t call_pc,
                    uint64_t caller_pc) {
    loop_place_read(l, pid, call_pc, caller_pc, p->names ? printer_symbolizer(p, (int)pid) : p->symbolizer);
}

void loop_line_add(struct printer *p, const char *name, pid_t pid, const struct loop_place *l) {
    char text[512];
    size_t bytes;
    const char *place = l->function[0] != '\0' ? l->function : l->of_program ? "" : l->module;
    snprintf(text, sizeof text, "watching the loop of %.200s[%d]%s%s%s%s", name, (int)pid,
             place[0] != '\0' || l->call[0] != '\0' ? ": " : "", l->call,
             l->call[0] != '\0' && place[0] != '\0' ? " in " : "", place);
    char *line = message_text(MESSAGE_DIM, &(struct message_part){text, NULL}, 1, &bytes);
    if (line != NULL) {
        pending_text_add(p, line, bytes);
    }
    free(line);
}

/* The place of the waits so far. */
static void read_place(struct reporter *r, struct hd_record *c, bool with_names) {
    uint64_t call_pc = atomic_load(&c->loop.call_pc), caller_pc = atomic_load(&c->loop.caller_pc);
    if (with_names) {
        loop_line_read(&r->printer, &r->shared->loop, r->options->pid, call_pc, caller_pc);
    } else {
        loop_place_read(&r->shared->loop, r->options->pid, call_pc, caller_pc, NULL);
    }
}

uint64_t loop_line_print(struct reporter *r, uint64_t now_ns) {
    struct hd_record *c = r->records;
    bool seen = atomic_load(&c->loop.certainty) >= HD_RECORD_LOOP_LIKELY,
         wanted = !r->options->print.quiet && !r->options->print.json;
    uint64_t caller_pc = atomic_load(&c->loop.caller_pc);
    if (seen && wanted && r->printer.on_terminal && !r->shared->loop_printed) {
        r->shared->loop_printed = true;
        read_place(r, c, true);
        loop_line_add(&r->printer, r->options->name, r->options->pid, &r->shared->loop);
    } else if (!seen &&
               caller_pc != r->shared->loop.caller_pc) { /* for the summary: the program is gone then */
        read_place(r, c, r->options->loop != NULL);      /* a wrong function of --loop has a right one */
    }
    return !seen && r->printer.on_terminal && wanted ? now_ns + LOOK_NS : UINT64_MAX;
}
