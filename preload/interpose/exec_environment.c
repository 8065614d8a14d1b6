/* SPDX-License-Identifier: MIT
 *
 * The environment that an exec is given, and its memory. A vforked child uses its parent's memory, and
 * nothing runs there when its exec has succeeded: the room stays taken. But the child has the
 * variables of the thread that made it, which goes on only then. So the next child of that thread has the
 * same room. Async-signal-safe.
 */
#include "preload/interpose/exec_environment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "os/os.h"
#include "preload/interpose/exec.h"

#define CHILDS_BYTES (32u * 1024u) /* the most in a child */
#define ROOMS 8                    /* threads that make children so: the others' are not followed */

static size_t preload_bytes(const struct hd_exec_addition *a) {
    return sizeof HD_PRELOAD_VARIABLE "::" + strlen(a->before) + strlen(a->preload) +
           (a->users != NULL ? strlen(a->users) : 0);
}

static size_t link_bytes(const struct hd_exec_addition *a) {
    return sizeof HD_LINK_VARIABLE + strlen(a->link);
}

size_t hd_exec_environment_bytes(const struct hd_exec_addition *a) {
    return (a->variables + 3) * sizeof(char *) + preload_bytes(a) + link_bytes(a);
}

char **hd_exec_environment_fill(void *room, char *const *env, const struct hd_exec_addition *a) {
    char **to = room, *preload = (char *)(to + a->variables + 3), *link = preload + preload_bytes(a);
    size_t n = 0;
    struct hd_text t;
    hd_text_init(&t, preload, preload_bytes(a));
    hd_text_str(&t, HD_PRELOAD_VARIABLE);
    hd_text_mem(&t, a->before, strcspn(a->before, ": "));
    hd_text_str(&t, ":"); /* an empty name is none */
    hd_text_str(&t, a->preload);
    if (a->users != NULL) {
        hd_text_str(&t, ":");
        hd_text_str(&t, a->users);
    }
    for (; n < a->variables; n++) {
        bool is_preload = a->users != NULL && env[n] + sizeof HD_PRELOAD_VARIABLE - 1 == a->users;
        to[n] = is_preload ? preload : env[n];
    }
    if (a->users == NULL) {
        to[n++] = preload;
    }
    hd_text_init(&t, link, link_bytes(a));
    hd_text_str(&t, HD_LINK_VARIABLE);
    hd_text_str(&t, a->link);
    to[n++] = link;
    to[n] = NULL;
    return to;
}

/* ---- memory --------------------------------------------------------------------------------------- */

static struct {
    _Atomic uintptr_t thread; /* 0: free */
    void *memory;             /* mapped at first use, for good */
} rooms[ROOMS];

static void *map(size_t bytes) {
    void *p = hd_os.map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hd_os_map_error(p) == 0 ? p : NULL;
}

/* Of the thread, else free. */
static int claim(uintptr_t thread) {
    for (int i = 0; i < ROOMS; i++) {
        if (atomic_load(&rooms[i].thread) == thread) {
            return i;
        }
    }
    for (int i = 0; i < ROOMS; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&rooms[i].thread, &none, thread)) {
            return i;
        }
    }
    return -1;
}

void *hd_exec_room_take(size_t bytes, bool in_child) {
    if (!in_child) {
        return map(bytes);
    }
    int i = bytes <= CHILDS_BYTES ? claim((uintptr_t)&errno) : -1;
    if (i < 0) {
        return NULL;
    }
    if (rooms[i].memory == NULL) {
        rooms[i].memory = map(CHILDS_BYTES);
    }
    if (rooms[i].memory == NULL) {
        atomic_store(&rooms[i].thread, 0);
    }
    return rooms[i].memory;
}

void hd_exec_room_give(void *room, size_t bytes, bool in_child) {
    if (!in_child) {
        (void)hd_os.unmap(room, bytes);
        return;
    }
    for (unsigned i = 0; i < ROOMS; i++) {
        if (rooms[i].memory == room) {
            atomic_store(&rooms[i].thread, 0);
        }
    }
}
