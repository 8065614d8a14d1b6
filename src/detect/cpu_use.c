/* SPDX-License-Identifier: MIT
 *
 * Two periods in a row must be above the limit. A burst that is shorter than a period makes at most one of
 * them exceed the limit, and so gives no report.
 */
#include "detect/cpu_use.h"

static void start_period(struct hd_cpu_use *s, uint8_t phase, uint64_t now_ns, uint64_t cpu_ns,
                         uint64_t next_ns) {
    *s = (struct hd_cpu_use){.phase = phase, .since_ns = now_ns, .cpu_ns = cpu_ns, .next_ns = next_ns};
}

static bool is_over(const struct hd_cpu_use *s, uint64_t now_ns, uint64_t cpu_ns) {
    return cpu_ns - s->cpu_ns > (now_ns - s->since_ns) / 100 * HD_CPU_LIMIT;
}

/* When the next sample is due: up to half an interval early or late. A program may work periodically, and
 * samples at equal distances would then always show the same part of that period. */
static uint64_t next_sample(uint64_t now_ns, uint64_t sample_ns) {
    uint64_t random = (now_ns * 0x9e3779b97f4a7c15u) >> 32;
    return now_ns + sample_ns / 2 + random % (sample_ns + 1);
}

enum hd_cpu_word hd_cpu_use_step(struct hd_cpu_use *s, uint64_t now_ns, uint64_t cpu_ns, uint64_t period_ns,
                                 uint64_t sample_ns) {
    if (now_ns < s->next_ns) {
        return HD_CPU_NOTHING;
    }
    bool ends = now_ns - s->since_ns >= period_ns, over = is_over(s, now_ns, cpu_ns);
    switch ((enum hd_cpu_phase)s->phase) {
    case HD_CPU_COUNTS:
        if (over) {
            start_period(s, HD_CPU_SAMPLED, now_ns, cpu_ns, next_sample(now_ns, sample_ns));
            return HD_CPU_START;
        }
        break;
    case HD_CPU_SAMPLED:
        if (!ends) {
            uint64_t end_ns = s->since_ns + period_ns;
            s->next_ns = next_sample(now_ns, sample_ns);
            s->next_ns = s->next_ns < end_ns ? s->next_ns : end_ns;
            return HD_CPU_SAMPLE;
        }
        if (over) {
            start_period(s, HD_CPU_RESTS, now_ns, cpu_ns, now_ns + HD_CPU_REST_PERIODS * period_ns);
            return HD_CPU_REPORT;
        }
        break;
    case HD_CPU_OFF:
    case HD_CPU_RESTS:
        break;
    }
    enum hd_cpu_word word = s->phase == HD_CPU_SAMPLED ? HD_CPU_DROP : HD_CPU_NOTHING;
    start_period(s, HD_CPU_COUNTS, now_ns, cpu_ns, now_ns + period_ns);
    return word;
}
