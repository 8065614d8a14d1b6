/* SPDX-License-Identifier: MIT
 *
 * A session report as text: what the run was like. Ordinary code.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>

/* The upper end of the bucket below which `part` of all turns are; 0 without turns. */
static int64_t turn_within(const json_t *histogram, double part) {
    int64_t all = 0, seen = 0;
    for (size_t i = 0; i < json_array_size(histogram); i++)
        all += json_integer_value(json_array_get(histogram, i));
    for (size_t i = 0; i < json_array_size(histogram) && i < 62; i++) {
        seen += json_integer_value(json_array_get(histogram, i));
        if (all > 0 && (double)seen >= part * (double)all)
            return INT64_C(1) << (i + 1);
    }
    return 0;
}

static void put_turns(const struct page *p, const json_t *session) {
    char half[RENDER_DURATION_BYTES], most[RENDER_DURATION_BYTES];
    const json_t *histogram = json_object_get(session, "turn_histogram");
    int64_t turns = member_int(session, "turns");
    fprintf(p->out, "  %" PRId64 " turn%s of the loop", turns, by_count(turns, "", "s"));
    if (turn_within(histogram, 0.5) != 0)
        fprintf(p->out, ", half of them under %s, 99 %% under %s",
                render_duration(half, turn_within(histogram, 0.5)),
                render_duration(most, turn_within(histogram, 0.99)));
    fputc('\n', p->out);
}

/* Not among the hangs: held until the loop was sure, and then a wait of the loop's own, say. */
static void put_withdrawn(const struct page *p, const json_t *session) {
    int64_t count = member_int(session, "withdrawn");
    if (count > 0)
        fprintf(p->out, "  %" PRId64 " report%s after all\n", count,
                by_count(count, " was withdrawn: it was no hang", "s were withdrawn: they were no hangs"));
}

static void put_suppressed(const struct page *p, const json_t *session) {
    char longest[RENDER_DURATION_BYTES];
    const json_t *list = json_object_get(session, "suppressed");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        int64_t count = member_int(one, "count");
        fprintf(p->out,
                "  %" PRId64 " more hang%s held back by a cap or by a spool that did not answer, %s %s\n",
                count, by_count(count, " was", "s were"), by_count(count, "of", "the longest"),
                render_duration(longest, member_int(one, "max_ns")));
    }
    if (member_int(session, "reports_dropped") > 0)
        fprintf(p->out, "  %" PRId64 " of the oldest reports removed for the spool's limits\n",
                member_int(session, "reports_dropped"));
}

/* The loops' times are summed up: beyond that of the run they are of several, and no part of it. */
static void put_idle(const struct page *p, const json_t *session) {
    double used = (double)member_int(session, "used_ns"), idle = (double)member_int(session, "idle_ns");
    double watched = idle + (double)member_int(session, "busy_ns");
    if (watched > 0 && idle >= 0 && idle <= watched)
        fprintf(p->out, ", %.0f %%%s idle", 100 * idle / watched, watched <= 1.01 * used ? " of it" : "");
}

void render_session(const struct page *p) {
    char time[RENDER_DURATION_BYTES];
    const json_t *session = json_object_get(p->report, "session");
    int64_t hangs = member_int(session, "hangs");
    if (session == NULL)
        return;
    fprintf(p->out, "\n  ran for %s", render_duration(time, member_int(session, "used_ns")));
    put_idle(p, session);
    fputc('\n', p->out);
    put_turns(p, session);
    if (hangs == 0)
        fputs("  no hang\n", p->out);
    else
        fprintf(p->out, "  %" PRId64 " hang%s, %s in all\n", hangs, by_count(hangs, "", "s"),
                render_duration(time, member_int(session, "hang_ns")));
    put_withdrawn(p, session);
    put_suppressed(p, session);
    if (member_text(session, "previous_end") != NULL) {
        fputs("  the run before ended: ", p->out);
        render_text(p->out, member_text(session, "previous_end"));
        fputc('\n', p->out);
    }
}
