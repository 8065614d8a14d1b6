/* SPDX-License-Identifier: MIT
 *
 * A library that the program is linked with is the target for every caller: the loader never unloads such a
 * library. All other names are removed from our symbol table before the program runs. A library that the
 * program opens later is then reached directly.
 *
 * In Python, modules (pygame, tkinter) open SDL and Tcl, so our names stay visible. With glibc 2.35 and
 * later each calling module has its own target. At each call the loader's data about the addresses shows,
 * without a lock, whether a module was replaced.
 */
#define _GNU_SOURCE
#include "preload/interpose/event_targets.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "os/linux/find_object.h"
#include "os/os.h"
#include "preload/interpose/real.h"

#define PYTHON "_PyRuntime" /* a symbol of the program or of a library it is linked with */
#define CALLERS 32u

static void *program_target[HD_EVENT_FUNCTIONS_MAX];

/* The target of a module's last call. A sequence lock protects the members. */
static struct entry {
    _Atomic uint32_t version; /* odd: a thread writes it */
    _Atomic uint32_t which;
    _Atomic uint64_t caller, callee; /* the modules of the two, as module_of returns them */
    void *_Atomic target;
} entries[CALLERS];

/* ---- our symbol table ---------------------------------------------------------------------------- */

/* True: `p` lies in a segment without code. To make our own code non-executable, even for an instant, would
 * be fatal. */
static bool is_in_data(const void *p, const void *file) {
    const ElfW(Ehdr) *head = file;
    const ElfW(Phdr) *segments = (const void *)((const char *)file + head->e_phoff);
    uintptr_t at = (uintptr_t)p - (uintptr_t)file;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && at - segments[i].p_vaddr < segments[i].p_memsz) {
            return (segments[i].p_flags & (PF_X | PF_W)) == 0;
        }
    }
    return false;
}

/* Sets the symbol's value to 0: the loader ignores such a symbol. */
static void hide(const char *name, const void *ours) {
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    if (dladdr1(ours, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL ||
        strcmp(info.dli_sname, name) != 0 || !is_in_data(symbol, info.dli_fbase)) {
        return;
    }
    char *page = (char *)symbol - ((uintptr_t)symbol & (getauxval(AT_PAGESZ) - 1));
    size_t bytes = (size_t)((char *)(symbol + 1) - page);
    if (hd_os.protect(page, bytes, PROT_READ | PROT_WRITE) == 0) {
        __atomic_store_n(&symbol->st_value, 0, __ATOMIC_RELAXED);
        (void)hd_os.protect(page, bytes, PROT_READ);
    }
}

static void forget_error(void) {
    (void)dlerror(); // NOLINT(concurrency-mt-unsafe): each thread has its own
}

bool hd_event_targets_may_come(void) {
    int saved = errno;
    bool python = _dl_find_object != NULL && dlsym(RTLD_DEFAULT, PYTHON) != NULL;
    forget_error();
    errno = saved;
    return python;
}

static const char *name_of(unsigned which, const char *names) {
    for (; which > 0; which--) {
        names += strlen(names) + 1;
    }
    return names;
}

void hd_event_target_resolve(unsigned which, const char *names, const void *ours, bool may_come) {
    const char *name = name_of(which, names);
    program_target[which] = hd_interpose_look_up(name);
    if (program_target[which] == NULL && !may_come) {
        hide(name, ours);
    }
    forget_error();
}

/* ---- of one calling module ----------------------------------------------------------------------- */

/* A hash that identifies the module at an address; 0: no module. Another module loaded there has another
 * hash. */
static uint64_t module_of(const void *address) {
    struct dl_find_object o;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)address, &o) != 0) {
        return 0;
    }
    uint64_t parts[] = {(uintptr_t)o.dlfo_link_map, (uintptr_t)o.dlfo_map_start, (uintptr_t)o.dlfo_map_end,
                        (uintptr_t)o.dlfo_eh_frame},
             identity = 0;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        identity = (identity ^ parts[i]) * 0xff51afd7ed558ccdULL;
        identity ^= identity >> 32;
    }
    return identity | 1;
}

static struct entry *entry_of(unsigned which, uint64_t caller) {
    return &entries[((caller >> 8) + which) % CALLERS];
}

/* NULL: the entry is for another call, or the target's library was unloaded. */
static void *read_entry(struct entry *e, unsigned which, uint64_t caller) {
    uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
    bool same = atomic_load_explicit(&e->which, memory_order_acquire) == which;
    same &= caller == 0 || atomic_load_explicit(&e->caller, memory_order_acquire) == caller;
    uint64_t callee = atomic_load_explicit(&e->callee, memory_order_acquire);
    void *target = atomic_load_explicit(&e->target, memory_order_acquire);
    same &= (version & 1) == 0 && atomic_load_explicit(&e->version, memory_order_relaxed) == version;
    return same && target != NULL && module_of(target) == callee ? target : NULL;
}

/* Does nothing while another thread writes the entry. */
static void write_entry(struct entry *e, unsigned which, uint64_t caller, void *target) {
    uint32_t version = atomic_load_explicit(&e->version, memory_order_relaxed) & ~1u;
    if (atomic_compare_exchange_strong(&e->version, &version, version + 1)) {
        atomic_store_explicit(&e->which, which, memory_order_release);
        atomic_store_explicit(&e->caller, caller, memory_order_release);
        atomic_store_explicit(&e->callee, module_of(target), memory_order_release);
        atomic_store_explicit(&e->target, target, memory_order_release);
        atomic_store_explicit(&e->version, version + 2, memory_order_release);
    }
}

/* Searches the calling module and the libraries that it is linked with: a plug-in's libraries are not in the
 * global scope. */
static void *look_up_of(const void *caller, const char *name) {
    Dl_info info;
    struct link_map *map = NULL;
    bool known = dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL;
    void *handle = known && map->l_name[0] != '\0' ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle == (void *)map && handle != NULL ? dlsym(handle, name) : NULL;
    if (handle != NULL) {
        dlclose(handle);
    }
    return found;
}

/* The target of another module: the caller is a library of that module, and not linked with the target
 * itself. */
static void *look_up_another(unsigned which) {
    void *found = NULL;
    for (unsigned i = 0; i < CALLERS && found == NULL; i++) {
        found = read_entry(&entries[i], which, 0);
    }
    return found;
}

/* Takes the loader's lock, by dlsym. */
static __attribute__((noinline, cold)) void *look_up(unsigned which, const char *names, const void *caller,
                                                     uint64_t identity) {
    int saved = errno;
    const char *name = name_of(which, names);
    void *found = dlsym(RTLD_NEXT, name); /* libraries that the program opened with RTLD_GLOBAL */
    if (found == NULL) {
        found = look_up_of(caller, name);
    }
    if (found == NULL) {
        found = look_up_another(which);
    } else if (identity != 0) {
        write_entry(entry_of(which, identity), which, identity, found);
    }
    forget_error();
    errno = saved;
    return found;
}

void *hd_event_target(unsigned which, const char *names, const void *caller) {
    if (program_target[which] != NULL) {
        return program_target[which];
    }
    uint64_t identity = module_of(caller);
    void *found = identity != 0 ? read_entry(entry_of(which, identity), which, identity) : NULL;
    return found != NULL ? found : look_up(which, names, caller, identity);
}
