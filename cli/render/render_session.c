/* SPDX-License-Identifier: MIT
 *
 * A session report as text: what the run was like. Ordinary code.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>

static int64_t bucket_of(const json_t *histogram, size_t i) {
    int64_t turns = json_integer_value(json_array_get(histogram, i));
    return turns > 0 ? turns : 0;
}

/* The upper end of the bucket below which `part` of all turns are; 0 without turns. */
static int64_t turn_within(const json_t *histogram, double part) {
    int64_t all = 0, seen = 0;
    for (size_t i = 0; i < json_array_size(histogram); i++) {
        all = value_sum(all, bucket_of(histogram, i));
    }
    for (size_t i = 0; i < json_array_size(histogram) && i < 62; i++) {
        seen = value_sum(seen, bucket_of(histogram, i));
        if (all > 0 && (double)seen >= part * (double)all) {
            return INT64_C(1) << (i + 1);
        }
    }
    return 0;
}

static void put_turns(const struct page *p, const json_t *session) {
    char half[RENDER_DURATION_BYTES], most[RENDER_DURATION_BYTES];
    const json_t *histogram = json_object_get(session, "turn_histogram");
    int64_t turns = value_int(session, "turns");
    fprintf(p->out, "  %" PRId64 " turn%s of the loop", turns, cli_plural(turns, "", "s"));
    if (turn_within(histogram, 0.5) != 0) {
        fprintf(p->out, ", median <%s, p99 <%s", render_duration(half, turn_within(histogram, 0.5)),
                render_duration(most, turn_within(histogram, 0.99)));
    }
    fputc('\n', p->out);
}

/* 5400 frames, 59.7 a second; 12 dropped, hitches 3.4 ms a second */
static void put_frames(const struct page *p, const json_t *session) {
    int64_t frames = value_int(session, "frames_presented"), dropped = value_int(session, "frames_dropped");
    const json_t *rate = json_object_get(session, "frames_per_second");
    if (frames <= 0) {
        return;
    }
    fprintf(p->out, "  %" PRId64 " frame%s", frames, cli_plural(frames, "", "s"));
    if (json_is_number(rate)) {
        fprintf(p->out, ", %.1f a second; %" PRId64 " dropped, hitches %.1f ms a second",
                json_number_value(rate), dropped, json_number_value(json_object_get(session, "hitch_ratio")));
    }
    fputc('\n', p->out);
}

/* Not among the hangs: deferred until the loop was certain, and then a wait of the loop's own, say. */
static void put_withdrawn(const struct page *p, const json_t *session) {
    int64_t count = value_int(session, "withdrawn");
    if (count > 0) {
        fprintf(p->out, "  %" PRId64 " report%s dropped: %s\n", count, cli_plural(count, "", "s"),
                cli_plural(count, "it was a wait of the loop's own", "they were waits of the loop's own"));
    }
}

static void put_suppressed(const struct page *p, const json_t *session) {
    char longest[RENDER_DURATION_BYTES];
    const json_t *list = json_object_get(session, "suppressed");
    int64_t removed = value_int(session, "reports_dropped");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        int64_t count = value_int(one, "count");
        fprintf(p->out, "  %" PRId64 " more hang%s not reported: over a limit, or the disk was slow; %s %s\n",
                count, cli_plural(count, "", "s"), cli_plural(count, "of", "the longest"),
                render_duration(longest, value_int(one, "max_ns")));
    }
    if (removed > 0) {
        fprintf(p->out, "  removed the %" PRId64 " oldest report%s: over the spool's limits\n", removed,
                cli_plural(removed, "", "s"));
    }
}

/* The loops' times are summed up: beyond that of the run they are of several, and no part of it. */
static void put_idle(const struct page *p, const json_t *session) {
    double used = (double)value_int(session, "used_ns"), idle = (double)value_int(session, "idle_ns");
    double watched = idle + (double)value_int(session, "busy_ns");
    if (watched > 0 && idle >= 0 && idle <= watched) {
        fprintf(p->out, "  %.0f%%%s idle\n", 100 * idle / watched, watched <= 1.01 * used ? " of it" : "");
    }
}

/* lockg[9123] ran for 18.1 s: 3 hangs, 2.7 s lost (15%), 22:54:56 */
static void put_headline(const struct page *p, const json_t *session) {
    char used[RENDER_DURATION_BYTES], lost[RENDER_DURATION_BYTES], time[RENDER_TIME_BYTES];
    const json_t *app = json_object_get(p->report, "app");
    int64_t hangs = value_int(session, "hangs"), used_ns = value_int(session, "used_ns"),
            lost_ns = value_int(session, "hang_ns"), launch_ns = value_int(session, "launch_ns");
    fprintf(p->out, "%s%s", p->style.bold, p->options->head != NULL ? p->options->head : "");
    sanitize_print(p->out, value_text(app, "name"));
    fprintf(p->out, "[%" PRId64 "] ran for %s: ", value_int(app, "pid"), render_duration(used, used_ns));
    if (hangs == 0) {
        fputs("no hang", p->out);
    } else {
        fprintf(p->out, "%" PRId64 " hang%s, %s lost", hangs, cli_plural(hangs, "", "s"),
                render_duration(lost, lost_ns));
        if (used_ns > 0 && lost_ns >= 0 && lost_ns <= used_ns) { /* more: the sum of several threads */
            fprintf(p->out, " (%.0f%%)", 100.0 * (double)lost_ns / (double)used_ns);
        }
    }
    if (launch_ns > 0) {
        fprintf(p->out, ", started in %s", render_duration(used, launch_ns));
    }
    fputs(", ", p->out);
    sanitize_print(p->out, p->options->dated ? render_time(time, value_text(p->report, "started_at"))
                                             : render_clock(time, value_text(p->report, "started_at")));
    fprintf(p->out, "%s\n", p->style.end);
}

/* 2 stalls of a pool, 7.9 s */
static void put_pools(const struct page *p, const json_t *session) {
    char time[RENDER_DURATION_BYTES];
    int64_t stalls = value_int(session, "pool_stalls");
    if (stalls > 0) {
        fprintf(p->out, "  %" PRId64 " pool stall%s, %s\n", stalls, cli_plural(stalls, "", "s"),
                render_duration(time, value_int(session, "pool_stall_ns")));
    }
}

void render_session(const struct page *p) {
    const json_t *session = json_object_get(p->report, "session");
    put_headline(p, session);
    if (session == NULL) {
        return;
    }
    put_idle(p, session);
    put_turns(p, session);
    put_pools(p, session);
    put_frames(p, session);
    put_withdrawn(p, session);
    put_suppressed(p, session);
    if (value_text(session, "previous_end") != NULL) {
        fputs("  the run before ended: ", p->out);
        sanitize_print(p->out, value_text(session, "previous_end"));
        fputc('\n', p->out);
    }
}
