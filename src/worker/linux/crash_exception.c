/* SPDX-License-Identifier: MIT
 *
 * For each thread, libstdc++ keeps a list of the exceptions that the thread handles. The uncaught exception
 * is on that list. Only the thread itself can get the list's address from libstdc++, so the crashed thread
 * calls libstdc++ for the address. The worker reads all else from memory, by reads that report an error if
 * the memory is not mapped. The worker does not call what(), because what() is code of the program. In
 * std::runtime_error, std::logic_error and classes derived from them, the text is at a known offset, and the
 * worker reads it there. On the worker thread.
 *
 * The layouts in this file are those of the C++ ABI and of libstdc++ (unwind-cxx.h). They are the same on all
 * 64-bit machines.
 */
#include "worker/crash_exception.h"

/* how many frames are searched for a function of libstdc++ that ends the program; it is about five frames
 * away from abort() */
#define ABORT_FRAMES 12u
#define CLASS_PRIMARY UINT64_C(0x474e5543432b2b00) /* "GNUCC++\0" */
/* the class of an exception that std::rethrow_exception has thrown again */
#define CLASS_DEPENDENT (CLASS_PRIMARY + 1)
#define WHAT_SLOT 2u /* index of what() in std::exception's virtual functions */
/* libstdc++ stores a string's length, capacity and reference count in this many bytes in front of the text */
#define STRING_HEADER 24u
#define STRING_BYTES_MAX (UINT64_C(1) << 24)

struct header { /* libstdc++'s __cxa_exception; the thrown object follows it in memory */
    uint64_t type, unused[9];
    uint64_t exception_class, unwinder[3];
};
_Static_assert(sizeof(struct header) == 112, "libstdc++'s __cxa_exception");

static bool read_u64(const struct hd_modules *m, uint64_t at, uint64_t *value) {
    return hd_memory_read(&m->memory, at, value, sizeof *value);
}

/* If the stack has a function that ends the program for an uncaught exception, returns the module of that
 * function, which contains libstdc++. Otherwise returns -1, and the thread must not call libstdc++. With that
 * function on the stack, the call is safe: the thread has just used its list of exceptions, and has not taken
 * malloc's lock. */
static int find_runtime(struct hd_modules *m, const struct hd_frame *frames, uint32_t count) {
    /* __gxx_personality_v0 ends the program when an exception would leave a noexcept function */
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

/* Returns the address of the thrown object. 0: the thread handles no exception, or the layout is not known.
 */
static uint64_t find_object(const struct hd_modules *m, uint64_t globals) {
    struct header caught;
    uint64_t at;
    if (!read_u64(m, globals, &at) || at == 0 || !hd_memory_read(&m->memory, at, &caught, sizeof caught)) {
        return 0;
    }
    if (caught.exception_class == CLASS_DEPENDENT) {
        /* for an exception that was thrown again, `type` has the address of the object that was thrown
         * first */
        return caught.type;
    }
    return caught.exception_class == CLASS_PRIMARY ? at + sizeof caught : 0;
}

/* Reads at most `bytes` - 1 bytes of a text, one by one, because the page behind the text may not be
 * mapped. */
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
        /* skips a leading '*', which marks a type that only one module has */
        read_text(m, name + (first == '*'), SIZE_MAX, out->type, sizeof out->type);
    }
}

/* Reads the text only if the exception's what() is that of std::runtime_error or std::logic_error. For
 * another what(), the place of the text is not known. */
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
