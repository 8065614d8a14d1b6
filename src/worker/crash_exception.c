/* SPDX-License-Identifier: MIT
 *
 * libstdc++ keeps a list of the exceptions that a thread handles; the uncaught one is on it. The list is the
 * thread's own, so the thread itself asks libstdc++ for its address. The worker reads all else from memory,
 * by reads that may fail. It does not call what(), which is the program's code. Two classes of the standard
 * library have the text at a known offset, and so have classes derived from them. On the worker thread.
 *
 * The layouts are those of the C++ ABI and of libstdc++ (unwind-cxx.h), on all 64-bit machines.
 */
#include "worker/crash_exception.h"

#define ABORT_FRAMES 12u                           /* from abort() to libstdc++ there are about five */
#define CLASS_PRIMARY UINT64_C(0x474e5543432b2b00) /* "GNUCC++\0" */
#define CLASS_DEPENDENT (CLASS_PRIMARY + 1)        /* an exception thrown again, by std::rethrow_exception */
#define WHAT_SLOT 2u                               /* index of what() in std::exception's virtual functions */
#define STRING_HEADER 24u                          /* length, capacity, references: in front of the text */
#define STRING_BYTES_MAX (UINT64_C(1) << 24)

struct header { /* __cxa_exception; the thrown object is behind it */
    uint64_t type, unused[9];
    uint64_t exception_class, unwinder[3];
};
_Static_assert(sizeof(struct header) == 112, "libstdc++'s __cxa_exception");

static bool read_u64(const struct hd_modules *m, uint64_t at, uint64_t *value) {
    return hd_memory_read(&m->memory, at, value, sizeof *value);
}

/* Returns the module libstdc++ if one function on the stack ends a program for an exception; else -1. Only
 * then is it safe to let the thread call libstdc++: the thread has just used its list, and does not have
 * malloc's lock. */
static int find_runtime(struct hd_modules *m, const struct hd_frame *frames, uint32_t count) {
    /* the second ends it as an exception would leave a noexcept function */
    static const char ends[][24] = {"_ZSt9terminatev", "__gxx_personality_v0"};
    for (uint32_t i = 0; i < count && i < ABORT_FRAMES; i++) {
        int module = frames[i].start != 0 ? hd_modules_at(m, frames[i].start) : -1;
        for (unsigned k = 0; module >= 0 && k < sizeof ends / sizeof ends[0]; k++) {
            if (hd_module_symbol(m, (uint32_t)module, ends[k]) == frames[i].start) {
                return module;
            }
        }
    }
    return -1;
}

/* The thrown object; 0: there is none, or its layout is not known. */
static uint64_t find_object(const struct hd_modules *m, uint64_t globals) {
    struct header caught;
    uint64_t at;
    if (!read_u64(m, globals, &at) || at == 0 || !hd_memory_read(&m->memory, at, &caught, sizeof caught)) {
        return 0;
    }
    if (caught.exception_class == CLASS_DEPENDENT) {
        return caught.type; /* a rethrown exception: the object thrown first */
    }
    return caught.exception_class == CLASS_PRIMARY ? at + sizeof caught : 0;
}

/* Reads a text of at most `bytes` - 1 bytes. Its last bytes may be in a page that is not mapped. */
static void read_text(const struct hd_modules *m, uint64_t at, size_t length, char *out, size_t bytes) {
    size_t n = 0;
    while (n < length && n < bytes - 1 && hd_memory_read(&m->memory, at + n, out + n, 1) && out[n] != 0) {
        n++;
    }
    out[n] = 0;
}

static void read_type(const struct hd_modules *m, uint64_t object, struct hd_crash_exception *out) {
    uint64_t type, name;
    char first;
    if (read_u64(m, object - sizeof(struct header), &type) && read_u64(m, type + 8, &name) &&
        hd_memory_read(&m->memory, name, &first, 1)) {
        read_text(m, name + (first == '*'), SIZE_MAX, out->type,
                  sizeof out->type); /* '*' marks a type of one module */
    }
}

/* Reads the text only if what() is the standard library's own. */
static void read_what(struct hd_modules *m, uint32_t runtime, uint64_t object,
                      struct hd_crash_exception *out) {
    uint64_t functions, what, text, length;
    if (!read_u64(m, object, &functions) || !read_u64(m, functions + WHAT_SLOT * 8, &what) || what == 0 ||
        (what != hd_module_symbol(m, runtime, "_ZNKSt13runtime_error4whatEv") &&
         what != hd_module_symbol(m, runtime, "_ZNKSt11logic_error4whatEv"))) {
        return;
    }
    if (read_u64(m, object + 8, &text) && read_u64(m, text - STRING_HEADER, &length) &&
        length < STRING_BYTES_MAX) {
        read_text(m, text, length, out->what, sizeof out->what);
    }
}

void hd_crash_exception_read(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                             struct hd_crash_exception *out) {
    int runtime = find_runtime(m, frames, count);
    uint64_t get = runtime >= 0 ? hd_module_symbol(m, (uint32_t)runtime, "__cxa_get_globals") : 0;
    if (get == 0) {
        return;
    }
    uint64_t globals = (uint64_t)(uintptr_t)hd_crash_call((void *(*)(void))(uintptr_t)get);
    uint64_t object = globals != 0 ? find_object(m, globals) : 0;
    if (object != 0) {
        read_type(m, object, out);
        read_what(m, (uint32_t)runtime, object, out);
    }
}
