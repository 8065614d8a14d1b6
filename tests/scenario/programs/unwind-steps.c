/* SPDX-License-Identifier: MIT
 *
 * unwind-steps EVERY LIMIT PROGRAM ARGUMENT...: runs the program instruction by instruction, at most LIMIT of
 * them, and keeps a shadow stack from its calls and returns. At every EVERY-th instruction the stack is
 * unwound, and its return addresses are compared with the shadow stack's: truth that is no other unwinder's
 * opinion, in prologues, epilogues, stubs, the loader, the vDSO and signal handlers too. x86-64 only.
 *
 * Prints "tests N right N whole N". Right: the first step. Whole: all frames, and the walk ends at a root.
 * Then "miss COUNT PC MODULE OFFSET got PC stop N want PC" for each address where the first step is wrong,
 * and "part COUNT PC ..." where a later one is: `got` and `want` are of the first frame that differs.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/elf/elf.h"
#include "unwind/unwind.h"

#define SHADOW_MAX 65536u
#define CALLS 65536u /* instructions whose nature is remembered */
#define MISSES_MAX 512u
#define FRAMES_MAX 4096u
#define RED_ZONE 128u

struct entry {
    uint64_t slot, target;
};

static pid_t child;
static int memory_fd;
static struct entry shadow[SHADOW_MAX];
static unsigned depth;
static struct hd_modules modules;
static struct hd_unwinder *unwinder;
static uint8_t stack[256 * 1024];
static struct {
    uint64_t pc, got, want;
    unsigned count, stop;
    bool part; /* the first step is right */
} misses[MISSES_MAX];
static unsigned miss_count;
static uint64_t tests, right, whole;

static int read_child(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    return pread(memory_fd, dst, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

/* The module of pc by the kernel's map: all neighbouring mappings of the same file, and what its headers say.
 */
static int find_module(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t bytes) {
    char name[64], line[1024], file[1024], last[1024] = "";
    uint64_t lo, hi, offset, first = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", child);
    FILE *f = fopen(name, "r");
    if (f == NULL) {
        return -ENOENT;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        char *at = line;
        lo = strtoull(at, &at, 16);
        hi = strtoull(at + 1, &at, 16);
        offset = strtoull(at + 6, &at, 16); /* behind " r-xp " */
        at = strpbrk(at, "/[");
        if (at == NULL || (*at == '[' && strncmp(at, "[vdso]", 6) != 0)) {
            continue;
        }
        snprintf(file, sizeof file, "%.*s", (int)strcspn(at, "\n"), at);
        if (strcmp(file, last) != 0 || offset == 0) {
            if (found) {
                break;
            }
            first = lo;
            snprintf(last, sizeof last, "%s", file);
        }
        if (pc >= lo && pc < hi) {
            found = true;
        }
        out->lo = first;
        out->hi = hi;
        snprintf(path, bytes, "%s", file);
    }
    fclose(f);
    if (!found) {
        return -ENOENT;
    }
    Elf64_Ehdr e;
    Elf64_Phdr ph;
    if (read_child(NULL, out->lo, &e, sizeof e) != 0 || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) {
        return -ENOENT;
    }
    for (unsigned i = 0; i < e.e_phnum; i++) {
        if (read_child(NULL, out->lo + e.e_phoff + i * sizeof ph, &ph, sizeof ph) == 0 &&
            ph.p_type == PT_LOAD && ph.p_offset == 0) {
            out->bias = out->lo - ph.p_vaddr;
        }
    }
    out->header = out->lo;
    int rc = hd_elf_headers(&m->memory, out);
    int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        hd_elf_eh_frame(fd, out);
        close(fd);
    }
    return rc;
}

/* Is the instruction at pc a call? */
static bool is_call(uint64_t pc) {
    static struct {
        uint64_t pc;
        bool call;
    } known[CALLS];
    uint8_t code[8] = {0};
    unsigned i = 0, at = (unsigned)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
    if (known[at].pc == pc) {
        return known[at].call;
    }
    for (unsigned n = sizeof code; n > 0 && pread(memory_fd, code, n, (off_t)pc) != (ssize_t)n; n--)
        ;
    while (i < 5 && ((code[i] >= 0x40 && code[i] <= 0x4f) || code[i] == 0x66 || code[i] == 0x67 ||
                     code[i] == 0xf2 || code[i] == 0x3e)) {
        i++;
    }
    known[at].pc = pc;
    known[at].call = code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2);
    return known[at].call;
}

static void push(uint64_t slot, uint64_t target) {
    if (depth < SHADOW_MAX) {
        shadow[depth++] = (struct entry){.slot = slot, .target = target};
    }
}

static uint64_t word_at(uint64_t addr) {
    uint64_t v = 0;
    (void)read_child(NULL, addr, &v, sizeof v);
    return v;
}

static void registers(const struct user_regs_struct *u, struct hd_regs *r) {
    const uint64_t by_number[16] = {u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp,
                                    u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15};
    memset(r, 0, sizeof *r);
    memcpy(r->r, by_number, sizeof by_number);
    r->sp = u->rsp;
    r->pc = u->rip;
    r->valid = 0xff7f;
}

static void note_miss(uint64_t pc, bool part, uint64_t got, uint64_t want, unsigned stop) {
    for (unsigned i = 0; i < miss_count; i++) {
        if (misses[i].pc == pc && misses[i].part == part) {
            misses[i].count++;
            return;
        }
    }
    if (miss_count < MISSES_MAX) {
        misses[miss_count].pc = pc;
        misses[miss_count].got = got;
        misses[miss_count].want = want;
        misses[miss_count].stop = stop;
        misses[miss_count].part = part;
        misses[miss_count++].count = 1;
    }
}

/* Compares each frame with the shadow stack. After the last call the root has no return address. */
static void judge(uint64_t pc, const struct hd_frame *frames, const struct hd_walk *walk) {
    for (unsigned i = 1;; i++) {
        uint64_t got = i < walk->count ? frames[i].pc : 0;
        uint64_t want = i <= depth ? shadow[depth - i].target : 0;
        right += i == 1 && got == want;
        if (got != want || (got == 0 && walk->stop != HD_STOP_ROOT)) {
            note_miss(pc, i > 1 || got == want, got, want, walk->stop);
            return;
        }
        if (got == 0) {
            whole++;
            return;
        }
    }
}

static void test(const struct user_regs_struct *u) {
    static struct hd_frame frames[FRAMES_MAX];
    struct hd_walk walk;
    struct hd_regs regs;
    uint64_t from = u->rsp - RED_ZONE;
    registers(u, &regs);
    for (size_t bytes = 4096; bytes <= sizeof stack; bytes *= 8) {
        ssize_t n = pread(memory_fd, stack, bytes, (off_t)from);
        if (n <= 0) {
            return;
        }
        hd_unwind(unwinder, &regs, stack, from, (uint32_t)n, 0, frames, FRAMES_MAX, &walk);
        if (walk.stop == HD_STOP_ROOT) {
            break;
        }
    }
    tests++;
    judge(u->rip, frames, &walk);
}

static void follow(uint64_t every, uint64_t limit) {
    struct user_regs_struct before, now;
    int status, signal = 0;
    if (ptrace(PTRACE_GETREGS, child, NULL, &before) != 0) {
        return;
    }
    for (uint64_t i = 0; i < limit; i++) {
        bool call = is_call(before.rip);
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(intptr_t)signal) != 0 ||
            waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
            ptrace(PTRACE_GETREGS, child, NULL, &now) != 0) {
            return;
        }
        bool handled = signal != 0 && now.rsp < before.rsp - RED_ZONE;
        while (depth > 0 && shadow[depth - 1].slot < now.rsp) {
            depth--;
        }
        if (handled) { /* the kernel made a frame: return address, then the context */
            push(now.rsp + 8, before.rip);
            push(now.rsp, word_at(now.rsp));
        } else if (call && now.rsp == before.rsp - 8) {
            push(now.rsp, word_at(now.rsp));
        }
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (signal == 0 && i % every == 0) {
            test(&now);
        }
        before = now;
    }
}

int main(int argc, char **argv) {
    int status;
    if (argc < 4) {
        fprintf(stderr, "usage: unwind-steps EVERY LIMIT PROGRAM ARGUMENT...\n");
        return 2;
    }
    child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        fprintf(stderr, "unwind-steps: %s cannot be traced\n", argv[3]);
        return 77;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", child);
    memory_fd = open(path, O_RDONLY);
    modules.memory.read = read_child;
    modules.find = find_module;
    unwinder = calloc(1, hd_unwinder_bytes());
    hd_unwinder_init(unwinder, &modules);
    follow(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
    printf("tests %" PRIu64 " right %" PRIu64 " whole %" PRIu64 "\n", tests, right, whole);
    for (unsigned i = 0; i < miss_count; i++) {
        int index = hd_modules_at(&modules, misses[i].pc);
        printf("%s %u %" PRIx64 " %s %" PRIx64 " got %" PRIx64 " stop %u want %" PRIx64 "\n",
               misses[i].part ? "part" : "miss", misses[i].count, misses[i].pc,
               index >= 0 ? hd_module_path(&modules, (uint32_t)index) : "?",
               index >= 0 ? misses[i].pc - modules.module[index].bias : 0, misses[i].got, misses[i].stop,
               misses[i].want);
    }
    kill(child, SIGKILL);
    return 0;
}
