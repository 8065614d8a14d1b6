/* SPDX-License-Identifier: MIT
 *
 * Unwinds the samples of `emulate`, for the CPU that this program is built for, and compares each step with
 * the truth.
 *
 *   emulate FILE CPU | judge FILE [--show N] [--least INNERMOST CALLERS]
 *
 * Prints how many steps are right: by the unwinder, by the plain tables, by frame pointers. Fails if the
 * unwinder is right for less than INNERMOST or CALLERS percent of the samples.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/sample.h"
#include "macho_file.h"
#include "unwind/macho/unwinder_macho.h"
#include "unwind/walk.h"

enum {
    FRAME,
    FRAMELESS,
    DWARF,
    NONE,
    KINDS
};

struct score {
    uint64_t samples;
    uint64_t right;  /* pc and frame pointer */
    uint64_t sp;     /* and the stack pointer */
    uint64_t saved;  /* and no saved register has a wrong value */
    uint64_t whole;  /* and each saved register is known */
    uint64_t table;  /* the plain table gives pc and frame pointer */
    uint64_t record; /* so does the frame record */
};

static struct macho_file file;
static struct hd_modules modules;
static struct hd_unwinder *unwinder, *plain;
static struct sample sample;
static uint8_t stack[SAMPLE_STACK_MAX];
static struct score scores[SAMPLE_KINDS][KINDS];
static unsigned shown, show_max;

/* ---- memory of the emulated process ---------------------------------------------------------- */

/* The byte at `at` of code that calls the sample's function, or another one, and of LEAF. */
static uint8_t code_byte(uint64_t at) {
    bool arm = sample.cpu == HD_MACHO_CPU_ARM64;
    uint64_t ra = (at & ~UINT64_C(15)) + 16;
    uint64_t distance = sample.function - ra;
    uint8_t code[16];
    memset(code, 0x90, sizeof code);
    if (at >= LEAF && at < LEAF + 16) {
        uint32_t ret = 0xd65f03c0;
        memcpy(code, &ret, 4);
        code[0] = arm ? code[0] : 0xc3;
    } else if (arm) {
        uint32_t call = 0x94000000 | (uint32_t)((distance + 4) >> 2 & 0x3ffffff);
        call = at < CALLERS || sample.number % 2 != 0 ? 0xd63f0100 : call;
        memcpy(code + 12, &call, 4);
    } else if (at < CALLERS || sample.number % 2 != 0) {
        code[14] = 0xff;
        code[15] = 0xd0;
    } else {
        code[11] = 0xe8;
        memcpy(code + 12, &distance, 4);
    }
    return code[at & 15];
}

static int read_beyond(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    if (addr < OUTER || addr >= IMAGE_BASE || n > IMAGE_BASE - addr) {
        return -EFAULT;
    }
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)dst)[i] = code_byte(addr + i);
    }
    return 0;
}

static int find_module(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t bytes) {
    (void)m;
    memset(out, 0, sizeof *out);
    if (path != NULL && bytes > 0) {
        path[0] = 0;
    }
    out->format = HD_IMAGE_MACHO;
    if (pc >= OUTER && pc < IMAGE_BASE) { /* without tables: its header is none */
        out->lo = out->header = OUTER;
        out->hi = IMAGE_BASE;
        return 0;
    }
    if (pc < file.base || pc >= file.base + file.bytes_count) {
        return -ENOENT;
    }
    out->lo = out->header = file.base;
    out->hi = file.base + file.bytes_count;
    return 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void walk(struct hd_unwinder *u, struct hd_walker *w, uint32_t steps) {
    static struct hd_frame frames[8];
    memset(w, 0, sizeof *w);
    w->u = u;
    w->stack = (struct hd_stack){.bytes = stack, .address = sample.stack_addr, .size = sample.stack_bytes};
    w->regs.pc = sample.pc;
    w->regs.sp = sample.sp;
    memcpy(w->regs.r, sample.r, sizeof w->regs.r);
    w->regs.valid = (UINT64_C(1) << HD_ARCH_REGS) - 1;
    w->step_limit = steps;
    w->scans_left = 0;
    w->trust = HD_TRUST_CONTEXT;
    hd_walk_set_frames(w, frames, 8);
    hd_walk_run(w);
}

static bool is_right(const struct hd_walker *w) {
    return w->stop == HD_STOP_LIMIT && w->regs.pc == sample.caller_pc &&
           (w->regs.valid >> HD_ARCH_FP & 1) != 0 &&
           hd_arch_frame_address(w->regs.r[HD_ARCH_FP]) == sample.caller_r[HD_ARCH_FP];
}

static int kind_of(uint64_t pc) {
    struct hd_macho_look look;
    static struct hd_row row;
    static const uint8_t kinds[] = {NONE, FRAME, FRAMELESS, DWARF};
    int index = hd_modules_at(&modules, pc);
    if (index < 0 || hd_macho_look(unwinder, &modules.module[index], pc, &row, &look) != 0) {
        return NONE;
    }
    return kinds[look.kind];
}

static void show(const struct hd_walker *w, int kind) {
    static const char *const names[] = {"frame", "frameless", "dwarf", "none"};
    static const char *const kinds[] = {"innermost", "caller", "outlined"};
    if (kind == NONE || shown++ >= show_max) {
        return;
    }
    printf("%s %s: function %" PRIx64 " + %" PRIx64 ": pc %" PRIx64 " for %" PRIx64 ", fp %" PRIx64
           " for %" PRIx64 ", sp %" PRId64 ", stop %u\n",
           kinds[sample.kind], names[kind], sample.function - file.base,
           (sample.kind != SAMPLE_INNERMOST ? sample.call : sample.pc) - sample.function, w->regs.pc,
           sample.caller_pc, w->regs.r[HD_ARCH_FP], sample.caller_r[HD_ARCH_FP],
           (int64_t)(w->regs.sp - sample.caller_sp), w->stop);
}

static void judge(void) {
    struct hd_walker w;
    bool caller = sample.kind != SAMPLE_INNERMOST;
    uint32_t steps = caller ? 2 : 1;
    int kind = kind_of(caller ? sample.call - 1 : sample.pc);
    struct score *s = &scores[sample.kind][kind];
    s->samples++;
    walk(unwinder, &w, steps);
    if (is_right(&w)) {
        uint64_t known = w.regs.valid & sample.caller_saved;
        bool wrong = false;
        for (unsigned i = 0; i < SAMPLE_REGS; i++) {
            wrong |= i != HD_ARCH_FP && (known >> i & 1) != 0 && w.regs.r[i] != sample.caller_r[i];
        }
        bool sp = w.regs.sp == sample.caller_sp;
        s->right++;
        s->sp += sp;
        s->saved += sp && !wrong;
        s->whole += sp && !wrong && known == sample.caller_saved;
    } else {
        show(&w, kind);
    }
    walk(plain, &w, steps);
    s->table += is_right(&w);
    uint64_t record[2], fp = sample.r[HD_ARCH_FP] - sample.stack_addr;
    if (fp < sample.stack_bytes && sample.stack_bytes - fp >= sizeof record) {
        memcpy(record, stack + fp, sizeof record);
        s->record += record[1] == sample.caller_pc && record[0] == sample.caller_r[HD_ARCH_FP];
    }
}

static double percent(uint64_t n, uint64_t of) {
    return of != 0 ? 100.0 * (double)n / (double)of : 100.0;
}

/* Prints a line, and returns the share of right steps. */
static double print_score(const char *name, const struct score *s) {
    if (s->samples != 0) {
        printf("  %-10s %9" PRIu64 " samples: right %8.4f %% (%" PRIu64
               " wrong), with sp %7.3f, saved registers %7.3f, "
               "all known %7.3f; plain table %7.3f, frame pointers %7.3f\n",
               name, s->samples, percent(s->right, s->samples), s->samples - s->right,
               percent(s->sp, s->samples), percent(s->saved, s->samples), percent(s->whole, s->samples),
               percent(s->table, s->samples), percent(s->record, s->samples));
    }
    return percent(s->right, s->samples);
}

static double print_scores(const char *title, const struct score kinds[KINDS]) {
    static const char *const names[] = {"frame", "frameless", "dwarf", "none"};
    struct score all = {0}, *sum = &all;
    printf("%s\n", title);
    for (unsigned i = 0; i < KINDS; i++) {
        print_score(names[i], &kinds[i]);
        if (i == NONE) { /* code without an entry: hand-written, or not covered */
            continue;
        }
        sum->samples += kinds[i].samples;
        sum->right += kinds[i].right;
        sum->sp += kinds[i].sp;
        sum->saved += kinds[i].saved;
        sum->whole += kinds[i].whole;
        sum->table += kinds[i].table;
        sum->record += kinds[i].record;
    }
    return print_score("all", sum);
}

int main(int argc, char **argv) {
    double least[2] = {0, 0};
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--show") == 0 && i + 1 < argc) {
            show_max = (unsigned)atoi(argv[++i]);
        } else if (strcmp(argv[i], "--least") == 0 && i + 2 < argc) {
            least[0] = atof(argv[++i]);
            least[1] = atof(argv[++i]);
        }
    }
    unwinder = calloc(1, hd_unwinder_bytes_macho());
    plain = calloc(1, hd_unwinder_bytes_macho());
    if (argc < 2 || unwinder == NULL || plain == NULL ||
        !macho_file_open(&file, argv[1], HD_ARCH_MACHO_CPU, IMAGE_BASE)) {
        fprintf(stderr, "usage: judge FILE [--show N] [--least INNERMOST CALLERS] <samples\n");
        return 2;
    }
    file.beyond = read_beyond;
    modules.memory = file.memory;
    modules.find = find_module;
    hd_unwinder_init_macho(unwinder, &modules);
    hd_unwinder_init_macho(plain, &modules);
    plain->own_step = NULL;
    while (fread(&sample, sizeof sample, 1, stdin) == 1) {
        if (sample.kind >= SAMPLE_KINDS || sample.stack_bytes > sizeof stack ||
            fread(stack, 1, sample.stack_bytes, stdin) != sample.stack_bytes) {
            fprintf(stderr, "judge: the samples are cut off\n");
            return 2;
        }
        judge();
    }
    double innermost = print_scores("innermost frames", scores[SAMPLE_INNERMOST]);
    double callers = print_scores("callers", scores[SAMPLE_CALLER]);
    if (HD_ARCH_MACHO_CPU == HD_MACHO_CPU_ARM64) {
        print_scores("callers of outlined code", scores[SAMPLE_OUTLINED]);
    }
    bool passed = innermost >= least[0] && callers >= least[1] && scores[0][FRAME].samples != 0;
    if (!passed) {
        printf("judge: failed: at least %.2f %% of innermost frames and %.2f %% of callers are required\n",
               least[0], least[1]);
    }
    return passed ? 0 : 1;
}
