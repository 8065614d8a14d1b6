/* SPDX-License-Identifier: MIT
 *
 * Libraries that wait by other means than poll and its kin: Tcl by a condition variable, SDL by looks with
 * zero timeout and sleeps. Their own functions are the waits; what these wait for inside is not looked at.
 * Watched thread: as in interpose.c. Programs without these libraries find the names by dlsym all the same
 * (docs/known-limits.md).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "preload/attach/named_threads.h"
#include "preload/interpose/real.h"
#include "recognise/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

enum { TCL = HD_WAIT_LIBRARY, SDL };

/* The caller's own library, or the one that it is linked with: a plug-in's is in no global scope. Takes the
 * loader's lock, as the program's first call of any function does. */
static __attribute__((noinline, cold)) void *look_up(const char *name, const void *caller) {
    int saved = errno;
    Dl_info info;
    struct link_map *map = NULL;
    void *handle = NULL, *found = dlsym(RTLD_NEXT, name);
    if (found == NULL && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL) {
        handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        found = handle != NULL ? dlsym(handle, name) : NULL;
    }
    errno = saved;
    return found;
}

static void begin(struct hd_waiting *w, int library, bool blocks, const void *caller, const void *frame) {
    struct hd_wait_set set = {.hash = (uint64_t)library << 32, .epoll = library};
    w->waits = NULL;
    if (hd_wait_table_self != NULL || (hd_named != NULL && hd_named_look())) {
        hd_wait_begin(w, &set, blocks, caller, frame);
    }
    if (w->waits != NULL) { /* its own calls are no other waits */
        atomic_store_explicit(&w->waits->slow_path, true, memory_order_relaxed);
    }
}

static void end(struct hd_waiting *w) {
    if (w->waits != NULL) {
        atomic_store_explicit(&w->waits->slow_path, false, memory_order_relaxed);
        hd_wait_end(w);
    }
}

#define INTERPOSE(name, PARAMETERS, ARGUMENTS, library, BLOCKS)                           \
    EXPORT int name PARAMETERS;                                                           \
    EXPORT int name PARAMETERS {                                                          \
        typedef int function PARAMETERS;                                                  \
        static function *_Atomic next;                                                    \
        struct hd_waiting w;                                                              \
        const void *caller = __builtin_return_address(0), *frame = __builtin_dwarf_cfa(); \
        function *real = atomic_load_explicit(&next, memory_order_relaxed);               \
        if (real == NULL) {                                                               \
            real = (function *)look_up(#name, caller);                                    \
            atomic_store_explicit(&next, real, memory_order_relaxed);                     \
        }                                                                                 \
        if (real == NULL) { /* found by dlsym, in a program without the library */        \
            return 0;                                                                     \
        }                                                                                 \
        begin(&w, library, BLOCKS, caller, frame);                                        \
        int result = real ARGUMENTS;                                                      \
        end(&w);                                                                          \
        return result;                                                                    \
    }

INTERPOSE(Tcl_WaitForEvent, (const long *time), (time), TCL, time == NULL || time[0] != 0 || time[1] != 0)
INTERPOSE(SDL_WaitEvent, (void *event), (event), SDL, true)
INTERPOSE(SDL_WaitEventTimeout, (void *event, int ms), (event, ms), SDL, true)
/* Short waits, in which a game's frame ends and the next begins; SDL_PumpEvents returns nothing. */
INTERPOSE(SDL_PollEvent, (void *event), (event), SDL, true)
INTERPOSE(SDL_PumpEvents, (void), (), SDL, true)
