/* SPDX-License-Identifier: MIT
 *
 * Runs functions of a Mach-O file instruction by instruction, and writes a sample of the thread at each
 * address that it meets first, with the truth about the function's caller.
 *
 *   emulate FILE arm64|x86_64 [FIRST [COUNT [STEP]]] >samples
 *
 * A call is not followed, but for a short straight function, which the compiler may have moved out of a
 * prologue. A conditional branch goes either way at random. Registers have known values at the start.
 * Functions are run in batches, each in its own process: an emulator that dies loses one batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unicorn/unicorn.h>

#include "chance.h"
#include "emulation/machine.h"
#include "image/macho/function_starts.h"
#include "macho_file.h"

#define RUNS 8u
#define STEPS 600u
#define BATCH 250u
#define FUNCTION_MAX (1u << 20)
#define RUN_SAMPLES (2u * STEPS)

struct function {
    uint64_t start, stop;
    uint32_t number;
};

struct emulation {
    struct machine machine;
    uint8_t visited[FUNCTION_MAX / 8 + 1]; /* addresses of the function, a bit each */
    uint8_t called[FUNCTION_MAX / 8 + 1];
    struct sample sample[RUN_SAMPLES];
    uint8_t *stack[RUN_SAMPLES];
    unsigned samples;
    unsigned broken; /* runs whose function did not return to its caller */
    unsigned returned;
};

static struct emulation e;

static bool test_and_set(uint8_t *bits, uint64_t at) {
    bool was = (bits[at / 8] >> at % 8 & 1) != 0;
    bits[at / 8] |= (uint8_t)(1u << at % 8);
    return was;
}

static void forget(uint8_t *bits, uint64_t at) {
    bits[at / 8] &= (uint8_t) ~(1u << at % 8);
}

static void take_sample(const struct function *f, enum sample_kind kind, uint64_t call) {
    struct sample *s = &e.sample[e.samples];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->function = f->start;
    s->function_stop = f->stop;
    s->number = f->number;
    s->call = call;
    uint8_t *stack = malloc(SAMPLE_STACK_MAX);
    if (stack == NULL || !machine_sample(&e.machine, s, stack)) {
        free(stack);
        return;
    }
    e.stack[e.samples++] = stack;
}

static void end_run(const struct function *f, bool keep) {
    for (unsigned i = 0; i < e.samples; i++) {
        const struct sample *s = &e.sample[i];
        if (keep) {
            fwrite(s, sizeof *s, 1, stdout);
            fwrite(e.stack[i], 1, s->stack_bytes, stdout);
        } else {
            forget(s->kind == SAMPLE_INNERMOST ? e.visited : e.called,
                   (s->kind == SAMPLE_INNERMOST ? s->pc : s->call) - f->start);
        }
        free(e.stack[i]);
    }
    fflush(stdout); /* whole samples only: the emulator may die */
    e.samples = 0;
}

/* Runs the function once, from its start. */
static void run_once(const struct function *f) {
    enum machine_state state = MACHINE_RUNS;
    bool first = false; /* the outlined code runs for the first time from its call */
    machine_enter(&e.machine, f->start, CALLERS + 16 * (uint64_t)(f->number + 1));
    for (unsigned i = 0; i < STEPS && state == MACHINE_RUNS; i++) {
        uint64_t pc = e.machine.pc;
        if (e.machine.outlined && first) {
            take_sample(f, SAMPLE_OUTLINED, e.machine.outlined);
        } else if (!e.machine.outlined) {
            if (pc < f->start || pc >= f->stop) {
                break;
            }
            if (!test_and_set(e.visited, pc - f->start)) {
                take_sample(f, SAMPLE_INNERMOST, 0);
            }
        }
        uint64_t call = machine_call(&e.machine);
        if (call != 0 && !e.machine.outlined && call - f->start < FUNCTION_MAX) {
            first = !test_and_set(e.called, call - f->start);
            if (first && !machine_follows(&e.machine)) {
                take_sample(f, SAMPLE_CALLER, call);
            }
        }
        state = machine_step(&e.machine, any(2) != 0);
    }
    bool fine = machine_is_whole(&e.machine, state == MACHINE_RETURNED);
    e.broken += !fine;
    e.returned += state == MACHINE_RETURNED && fine;
    end_run(f, fine);
}

static unsigned *progress; /* shared with the child: the number of functions that it has begun */

static void run_batch(struct macho_file *file, const struct function *functions, unsigned count) {
    if (!machine_open(&e.machine, file)) {
        exit(1);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct function *f = &functions[i];
        *progress = i + 1;
        if (f->stop - f->start > FUNCTION_MAX) {
            continue;
        }
        memset(e.visited, 0, (f->stop - f->start) / 8 + 1);
        memset(e.called, 0, (f->stop - f->start) / 8 + 1);
        for (unsigned run = 0; run < RUNS; run++) {
            run_once(f);
        }
    }
    fflush(stdout);
    fprintf(stderr, "emulate: %u functions from %u, %u runs returned, %u runs are left out\n", count,
            functions[0].number, e.returned, e.broken);
}

/* Lists functions `first` to `first + count`, every `step`th. */
static unsigned list_functions(struct macho_file *file, struct function *out, unsigned first, unsigned count,
                               unsigned step) {
    struct hd_macho_tables tables;
    struct hd_function_starts at;
    unsigned n = 0, number = 0;
    if (hd_macho_tables_read(&file->memory, file->base, &tables) != 0) {
        return 0;
    }
    hd_function_starts_init(&at, &tables);
    uint64_t stop = tables.text + tables.text_bytes;
    for (uint64_t start = 0; hd_function_starts_next(&at, &file->memory); start = at.start) {
        if (start != 0 && number >= first && n < count && (number - first) % step == 0) {
            out[n++] = (struct function){.start = start, .stop = at.start, .number = number};
        }
        number += start != 0;
    }
    (void)stop; /* the last function's end is not known */
    return n;
}

int main(int argc, char **argv) {
    static struct macho_file file;
    if (argc < 3) {
        fprintf(stderr, "usage: emulate FILE arm64|x86_64 [FIRST [COUNT [STEP]]]\n");
        return 2;
    }
    uint32_t cpu = strcmp(argv[2], "arm64") == 0 ? HD_MACHO_CPU_ARM64 : HD_MACHO_CPU_X86_64;
    unsigned first = argc > 3 ? (unsigned)atoi(argv[3]) : 0,
             count = argc > 4 ? (unsigned)atoi(argv[4]) : 1u << 17,
             step = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
    if (!macho_file_open(&file, argv[1], cpu, IMAGE_BASE)) {
        fprintf(stderr, "emulate: cannot read '%s' for %s\n", argv[1], argv[2]);
        return 1;
    }
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct function *functions = calloc(1u << 17, sizeof *functions);
    unsigned n = functions != NULL ? list_functions(&file, functions, first, count, step) : 0, dead = 0;
    for (unsigned at = 0; at < n; at += *progress) {
        fflush(stderr);
        *progress = 1;
        pid_t child = fork();
        if (child == 0) {
            run_batch(&file, functions + at, n - at < BATCH ? n - at : BATCH);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
            dead++;
        }
    }
    free(functions);
    fprintf(stderr, "emulate: %u functions, %u of them ended the emulator\n", n, dead);
    return n == 0;
}
