/* SPDX-License-Identifier: MIT
 *
 * Reads the clock by the vDSO, which the kernel maps into every process. An interposer of libc's
 * clock_gettime (libfaketime, a sanitizer or a test) might return a wrong time.
 *
 * Reading a clock is async-signal-safe. hd_os_clock_init is not async-signal-safe, but does not allocate.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include <fcntl.h>

#include "os/linux/syscall.h"
#include "os/os.h"
#include "os/ticks.h"

typedef int (*clock_function)(clockid_t clock, struct timespec *ts);

struct vdso {
    const char *base;
    uint64_t bias; /* a vDSO symbol's address in memory minus its address in the ELF headers */
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *sysv_hash;
    const uint32_t *gnu_hash;
};

static bool vdso_read_headers(struct vdso *v, const char *base) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(const void *)base;
    const ElfW(Dyn) *dynamic = NULL;
    bool loaded = false;

    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    memset(v, 0, sizeof *v);
    v->base = base;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *p = (const ElfW(Phdr) *)(const void *)(base + header->e_phoff + i * sizeof *p);
        if (p->p_type == PT_LOAD && !loaded) {
            loaded = true;
            v->bias = (uint64_t)base + p->p_offset - p->p_vaddr;
        } else if (p->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)(const void *)(base + p->p_offset);
        }
    }
    if (!loaded || dynamic == NULL) {
        return false;
    }
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *address = (const void *)(v->bias + dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            v->symbols = address;
            break;
        case DT_STRTAB:
            v->strings = address;
            break;
        case DT_HASH:
            v->sysv_hash = address;
            break;
        case DT_GNU_HASH:
            v->gnu_hash = address;
            break;
        default:
            break;
        }
    }
    return v->symbols != NULL && v->strings != NULL;
}

/* Returns the number of the vDSO's symbols. No header has this number, so it comes from a hash table. Of the
 * two kinds of hash table, a vDSO may have only one. */
static uint32_t vdso_symbol_count(const struct vdso *v) {
    if (v->sysv_hash != NULL) {
        return v->sysv_hash[1];
    }
    if (v->gnu_hash == NULL) {
        return 0;
    }
    uint32_t buckets = v->gnu_hash[0];
    uint32_t first = v->gnu_hash[1];
    const uint32_t *bucket = v->gnu_hash + 4 + (size_t)v->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++) {
        last = bucket[i] > last ? bucket[i] : last;
    }
    if (last < first) {
        return first;
    }
    while ((chain[last - first] & 1) == 0) { /* bit 0 of a symbol's hash is 1 at the end of a chain */
        last++;
    }
    return last + 1;
}

static clock_function vdso_find_clock(const char *base) {
    struct vdso v;
    if (base == NULL || !vdso_read_headers(&v, base)) {
        return NULL;
    }
    uint32_t count = vdso_symbol_count(&v);
    for (uint32_t i = 0; i < count; i++) {
        const ElfW(Sym) *s = &v.symbols[i];
        if (s->st_shndx != SHN_UNDEF && s->st_value != 0 &&
            strcmp(v.strings + s->st_name, HD_VDSO_CLOCK) == 0) {
            return (clock_function)(v.bias + s->st_value);
        }
    }
    return NULL;
}

void hd_os_clock_init(void) {
    /* Two threads may run this code at the same time. That does no harm, since both store the same value. */
    if (__atomic_load_n(&hd_os.clock, __ATOMIC_RELAXED) == NULL) {
        clock_function found = vdso_find_clock((const char *)getauxval(AT_SYSINFO_EHDR));
        __atomic_store_n(&hd_os.clock, found, __ATOMIC_RELAXED);
    }
}

static uint64_t to_ns(const struct timespec *ts) {
    return (uint64_t)ts->tv_sec * HD_NS_PER_S + (uint64_t)ts->tv_nsec;
}

static uint64_t kernel_clock_ns(clockid_t of) {
    struct timespec ts = {0};
    hd_syscall2(SYS_clock_gettime, of, &ts);
    return to_ns(&ts);
}

uint64_t hd_os_now_ns(void) {
    clock_function clock = __atomic_load_n(&hd_os.clock, __ATOMIC_RELAXED);
    struct timespec ts = {0};
    if (clock == NULL || clock(CLOCK_MONOTONIC, &ts) != 0) {
        return kernel_clock_ns(CLOCK_MONOTONIC);
    }
    return to_ns(&ts);
}

void hd_os_nap(uint64_t ns) {
    static uint32_t never;
    (void)hd_os.futex_wait(&never, 0, hd_os_now_ns() + ns, false);
}

uint64_t hd_os_thread_cpu_ns(void) {
    return kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t hd_os_process_cpu_ns(void) {
    return kernel_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static bool clock_source_is(const char *wanted) {
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[32];

    int fd = hd_os_open(AT_FDCWD, path);
    if (fd < 0) {
        return false;
    }
    long n = hd_os.read(fd, name, sizeof name);
    hd_os_close(fd);
    return n == (long)strlen(wanted) && memcmp(name, wanted, (size_t)n) == 0;
}

bool hd_os_ticks_usable(void) {
    return clock_source_is(HD_TICKS_CLOCKSOURCE "\n");
}

bool hd_os_ticks_steady(void) {
    return hd_os_ticks_usable() || (hd_ticks_invariant() && clock_source_is("kvm-clock\n"));
}
