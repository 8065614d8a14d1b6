/* SPDX-License-Identifier: MIT
 *
 * Writes the session of a run: the sums of turns and frames. Worker code: may run while a hang lasts; no
 * allocation.
 */
#include "base/frame_times.h"
#include "report/writer.h"

static void write_histogram(const struct hd_session *s, struct hd_json *j) {
    uint32_t used = HD_TURN_BUCKETS;
    while (used != 0 && s->turn_histogram[used - 1] == 0) {
        used--;
    }
    hd_json_array(j, "turn_histogram");
    for (uint32_t i = 0; i < used; i++) {
        hd_json_u64(j, NULL, s->turn_histogram[i]);
    }
    hd_json_end_array(j);
}

/* Leaves out empty buckets. The last bucket has no upper bound. */
static void write_frame_histogram(const struct hd_session *s, struct hd_json *j) {
    hd_json_array(j, "frame_histogram");
    for (uint32_t i = 0; i < HD_FRAME_BUCKETS; i++) {
        if (s->frame_histogram[i] == 0) {
            continue;
        }
        hd_json_object(j, NULL);
        if (i < HD_FRAME_BUCKETS - 1) {
            hd_json_u64(j, "below_ns", hd_frame_bound_us[i] * HD_NS_PER_US);
        }
        hd_json_u64(j, "count", s->frame_histogram[i]);
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
}

#define OF_SESSION(member, always, name) \
    { offsetof(struct hd_session, member), always, name }

static void write_frames(const struct hd_session *s, struct hd_json *j) {
    static const struct hd_writer_number numbers[] = {
        OF_SESSION(frames, true, "frames_presented"), OF_SESSION(frames_dropped, true, "frames_dropped"),
        OF_SESSION(hitch_ns, true, "hitch_ns"), OF_SESSION(frame_ns, true, "frame_ns")};
    uint64_t timed = 0;
    for (uint32_t i = 0; i < HD_FRAME_BUCKETS; i++) {
        timed += s->frame_histogram[i];
    }
    HD_WRITER_NUMBERS(j, s, numbers);
    if (s->frame_ns != 0) {
        hd_json_fixed(j, "frames_per_second", (double)timed * 1e9 / (double)s->frame_ns, 2);
        hd_json_fixed(j, "hitch_ratio", (double)s->hitch_ns * 1e3 / (double)s->frame_ns, 3);
    }
    write_frame_histogram(s, j);
}

void hd_writer_session(const struct hd_session *s, struct hd_json *j) {
    static const struct hd_writer_number numbers[] = {OF_SESSION(used_ns, true, "used_ns"),
                                                      OF_SESSION(foreground_ns, false, "foreground_ns"),
                                                      OF_SESSION(launch_ns, false, "launch_ns"),
                                                      OF_SESSION(idle_ns, true, "idle_ns"),
                                                      OF_SESSION(busy_ns, true, "busy_ns"),
                                                      OF_SESSION(hangs, true, "hangs"),
                                                      OF_SESSION(hang_ns, true, "hang_ns"),
                                                      OF_SESSION(pool_stalls, false, "pool_stalls"),
                                                      OF_SESSION(pool_stall_ns, false, "pool_stall_ns"),
                                                      OF_SESSION(turns, true, "turns")};
    static const struct hd_writer_number suppressed[] = {OF_SESSION(suppressed_count, true, "count"),
                                                         OF_SESSION(suppressed_total_ns, true, "total_ns"),
                                                         OF_SESSION(suppressed_max_ns, true, "max_ns")};
    static const struct hd_writer_number losses[] = {OF_SESSION(reports_dropped, false, "reports_dropped"),
                                                     OF_SESSION(withdrawn, false, "withdrawn")};
    hd_json_object(j, "session");
    HD_WRITER_NUMBERS(j, s, numbers);
    write_histogram(s, j);
    if (s->frames != 0) {
        write_frames(s, j);
    }
    HD_WRITER_NUMBERS(j, s, losses);
    if (s->suppressed_count != 0) {
        hd_json_array(j, "suppressed");
        hd_json_object(j, NULL);
        HD_WRITER_NUMBERS(j, s, suppressed);
        hd_json_end_object(j);
        hd_json_end_array(j);
    }
    hd_json_str(j, "previous_end", s->previous_end);
    hd_json_str(j, "end", s->end);
    hd_json_end_object(j);
}

void hd_writer_watch(const struct hd_report *r, struct hd_json *j) {
    if (r->hook != NULL) {
        hd_json_object(j, "watch");
        hd_json_str(j, "from", "outside");
        hd_json_str(j, "hook", r->hook);
        hd_json_str(j, "turns", r->turns);
        hd_json_end_object(j);
    }
}
