/* SPDX-License-Identifier: MIT
 * A vforked child uses its parent's memory, and after a successful exec no code runs there that could free a
 * buffer. But the child also has the thread-local variables of the parent's thread, which is suspended until
 * then. So a buffer belongs to that thread, and the thread's next child uses the same one.
 */
#include "preload/interpose/exec_environment.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "os/os.h"

#define BUFFER_BYTES (32u * 1024u) /* the largest environment in a child */
#define BUFFERS 8 /* threads with such children; children of other threads are not followed */

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

char **hd_exec_environment_fill(void *memory, char *const *env, const struct hd_exec_addition *a) {
    char **to = memory, *preload = (char *)(to + a->variables + 3), *link = preload + preload_bytes(a);
    size_t n = 0;
    struct hd_text t;
    hd_text_init(&t, preload, preload_bytes(a));
    hd_text_str(&t, HD_PRELOAD_VARIABLE);
    hd_text_mem(&t, a->before, strcspn(a->before, ": "));
    hd_text_str(&t, ":"); /* the loader ignores an empty name */
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
    void *memory;             /* mapped at first use, never unmapped */
} buffers[BUFFERS];

static void *map(size_t bytes) {
    void *p = hd_os.map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hd_os_map_error(p) == 0 ? p : NULL;
}

/* The index of the thread's buffer, else of a free one; -1: none. */
static int claim(uintptr_t thread) {
    for (int i = 0; i < BUFFERS; i++) {
        if (atomic_load(&buffers[i].thread) == thread) {
            return i;
        }
    }
    for (int i = 0; i < BUFFERS; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&buffers[i].thread, &none, thread)) {
            return i;
        }
    }
    return -1;
}

void *hd_exec_memory_take(size_t bytes, bool in_child) {
    if (!in_child) {
        return map(bytes);
    }
    int i = bytes <= BUFFER_BYTES ? claim((uintptr_t)&errno) : -1;
    if (i < 0) {
        return NULL;
    }
    if (buffers[i].memory == NULL) {
        buffers[i].memory = map(BUFFER_BYTES);
    }
    if (buffers[i].memory == NULL) {
        atomic_store(&buffers[i].thread, 0);
    }
    return buffers[i].memory;
}

void hd_exec_memory_give(void *memory, size_t bytes, bool in_child) {
    if (!in_child) {
        (void)hd_os.unmap(memory, bytes);
        return;
    }
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (buffers[i].memory == memory) {
            atomic_store(&buffers[i].thread, 0);
        }
    }
}
