/* SPDX-License-Identifier: MIT
 *
 * These handlers run on a thread of the program, outside of signal handlers, while no thread is suspended by
 * it. The functions of the runtimes come by their names, so the library needs neither C++ nor Foundation.
 */
#include "crash/darwin/exception.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "capture/arch/thread_files.h"

/* On arm64 the highest bit of the name's pointer says that the type may have several descriptions. */
#define NAME_BITS (~(UINT64_C(1) << 63))
#define ADDRESS_BITS ((UINT64_C(1) << 47) - 1) /* without pointer authentication */
#define WHAT_SLOT 2u                           /* index of what() in std::exception's virtual functions */

typedef void (*terminate_handler)(void);
typedef void (*objc_handler)(void *exception);

static struct {
    terminate_handler (*set_terminate)(terminate_handler);
    void *(*current_type)(void);   /* __cxa_current_exception_type */
    void *(*current_object)(void); /* __cxa_current_primary_exception */
    uint64_t runtime_error_what, logic_error_what;
    terminate_handler before;
} cxx;

static struct {
    void (*set)(objc_handler);
    objc_handler (*get)(void);
    void *(*selector)(const char *name);         /* sel_registerName */
    void *(*send)(void *object, void *selector); /* objc_msgSend */
    objc_handler before;
} objc;

/* The first thread that meets an uncaught exception stores it. Objective-C's handler runs inside the one of
 * C++, on the same thread: what it stores replaces the other. */
static struct {
    _Atomic uint64_t thread;
    _Atomic bool complete;
    struct hd_crash_exception exception;
} seen;

static void *symbol(const char *name) {
    return dlsym(RTLD_DEFAULT, name);
}

/* ---- what is stored ---------------------------------------------------------------------------- */

static void copy_text(char to[HD_CRASH_TEXT_BYTES], const char *text) {
    size_t n = text != NULL ? strnlen(text, HD_CRASH_TEXT_BYTES - 1) : 0;
    memcpy(to, text != NULL ? text : "", n);
    memset(to + n, 0, HD_CRASH_TEXT_BYTES - n);
}

static void store(const char *type, const char *text) {
    uint64_t none = 0, own = hd_thread_id_self().number;
    if (!atomic_compare_exchange_strong(&seen.thread, &none, own) && none != own) {
        return;
    }
    atomic_store(&seen.complete, false);
    copy_text(seen.exception.type, type);
    copy_text(seen.exception.what, text);
    atomic_store(&seen.complete, true);
}

bool hd_crash_exception_seen(const struct hd_crash *crash, struct hd_crash_exception *out) {
    if (atomic_load(&seen.thread) != crash->thread.number || !atomic_load(&seen.complete)) {
        return false;
    }
    *out = seen.exception;
    return true;
}

/* ---- C++ --------------------------------------------------------------------------------------- */

static bool read_u64(uint64_t at, uint64_t *value) {
    return hd_thread_files_memory(at, value, sizeof *value) == (long)sizeof *value;
}

/* Reads a text that may end before `out` is full, or at an unmapped page. */
static void read_text(uint64_t at, char out[HD_CRASH_TEXT_BYTES]) {
    long n = hd_thread_files_memory(at, out, HD_CRASH_TEXT_BYTES - 1);
    out[n > 0 ? n : 0] = '\0';
}

/* Reads the text only if the exception's what() is that of std::runtime_error or std::logic_error. For
 * another what(), the place of the text is not known. */
static void read_what(uint64_t object, char out[HD_CRASH_TEXT_BYTES]) {
    uint64_t functions, what, text;
    if (!read_u64(object, &functions) ||
        !read_u64((functions & ADDRESS_BITS) + WHAT_SLOT * sizeof what, &what)) {
        return;
    }
    what &= ADDRESS_BITS;
    bool known = what != 0 && (what == cxx.runtime_error_what || what == cxx.logic_error_what);
    if (known && read_u64(object + sizeof functions, &text)) {
        read_text(text, out);
    }
}

static void store_cxx(void) {
    char type[HD_CRASH_TEXT_BYTES] = "", what[HD_CRASH_TEXT_BYTES] = "";
    uint64_t name, description = (uint64_t)(uintptr_t)cxx.current_type();
    if (description == 0 || !read_u64(description + sizeof name, &name)) {
        return; /* std::terminate() without an exception */
    }
    read_text(name & NAME_BITS, type);
    void *object = cxx.current_object != NULL ? cxx.current_object() : NULL;
    if (object != NULL) {
        read_what((uint64_t)(uintptr_t)object, what);
    }
    store(type, what);
}

static void on_terminate(void) {
    store_cxx();
    if (cxx.before != NULL) {
        cxx.before();
    }
    abort(); /* a terminate handler must not return */
}

static void install_cxx(void) {
    terminate_handler (*set)(terminate_handler) =
        (terminate_handler(*)(terminate_handler))symbol("_ZSt13set_terminatePFvvE");
    cxx.current_type = (void *(*)(void))symbol("__cxa_current_exception_type");
    cxx.current_object = (void *(*)(void))symbol("__cxa_current_primary_exception");
    cxx.runtime_error_what = (uint64_t)(uintptr_t)symbol("_ZNKSt13runtime_error4whatEv") & ADDRESS_BITS;
    cxx.logic_error_what = (uint64_t)(uintptr_t)symbol("_ZNKSt11logic_error4whatEv") & ADDRESS_BITS;
    if (set != NULL && cxx.current_type != NULL) {
        cxx.set_terminate = set;
        terminate_handler before = set(on_terminate);
        cxx.before = before != on_terminate ? before : cxx.before;
    }
}

static void remove_cxx(void) {
    if (cxx.set_terminate != NULL) {
        terminate_handler now = cxx.set_terminate(cxx.before);
        if (now != on_terminate) {
            (void)cxx.set_terminate(now); /* the program's, which is newer */
        }
        cxx.set_terminate = NULL;
    }
}

/* ---- Objective-C ------------------------------------------------------------------------------- */

/* Returns the text of a member of NSString type. The text lives as long as the exception. */
static const char *text_of(void *exception, const char *member) {
    void *string = objc.send(exception, objc.selector(member));
    return string != NULL ? objc.send(string, objc.selector("UTF8String")) : NULL;
}

static void on_exception(void *exception) {
    store(text_of(exception, "name"), text_of(exception, "reason"));
    if (objc.before != NULL) {
        objc.before(exception);
    }
}

static void install_objc(void) {
    objc.set = (void (*)(objc_handler))symbol("NSSetUncaughtExceptionHandler");
    objc.get = (objc_handler(*)(void))symbol("NSGetUncaughtExceptionHandler");
    objc.selector = (void *(*)(const char *))symbol("sel_registerName");
    objc.send = (void *(*)(void *, void *))symbol("objc_msgSend");
    if (objc.set == NULL || objc.get == NULL || objc.selector == NULL || objc.send == NULL) {
        objc.set = NULL;
        return;
    }
    objc_handler before = objc.get();
    objc.before = before != on_exception ? before : objc.before;
    objc.set(on_exception);
}

static void remove_objc(void) {
    if (objc.set != NULL && objc.get() == on_exception) {
        objc.set(objc.before);
    }
    objc.set = NULL;
}

void hd_crash_exceptions_install(void) {
    atomic_store(&seen.complete, false);
    atomic_store(&seen.thread, 0);
    install_cxx();
    install_objc();
}

void hd_crash_exceptions_remove(void) {
    remove_objc();
    remove_cxx();
}
