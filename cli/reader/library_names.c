/* SPDX-License-Identifier: MIT */
#include "cli/reader/library_names.h"

#include <string.h>

bool names_begin_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool names_begin_with_any(const char *text, const char *const *beginnings) {
    while (*beginnings != NULL && !names_begin_with(text, *beginnings)) {
        beginnings++;
    }
    return *beginnings != NULL;
}

/* Of "<app::Big as core::fmt::Display>::fmt" the trait; NULL: none. */
static const char *trait_of(const char *name) {
    int depth = 0;
    for (const char *at = name; *at != 0; at++) {
        depth += (*at == '<') - (*at == '>' && at[-1] != '-');
        if (depth == 0) {
            return NULL;
        }
        if (depth == 1 && names_begin_with(at, " as ")) {
            return at + 4;
        }
    }
    return NULL;
}

/* True for a path of the library: "core::fmt::write", "core::ptr::drop_in_place::<(app::Big, u8)>". False for
 * core::App::run() of C++. In
 * "<alloc::vec::Vec<T> as core::clone::Clone>::clone" both type and trait must be the library's. A type
 * without a path, or made of others
 * ("[app::Big]"), is a parameter or built in: only the library can implement a trait for that. Exception: an
 * app can implement a generic trait of the library with a type of the app as argument ("<u64 as
 * core::convert::From<app::Big>>::from"). The name does not show this. The maps of std are in hashbrown, and
 * code that the compiler adds is in __rustc. */
static bool is_of_rusts_library(const char *name) {
    static const char *const crates[] = {
        "std::", "core::", "alloc::", "__rustc::", "panic_unwind::", "hashbrown::", "tokio::", "mio::", NULL};
    const char *arguments = strstr(name, "::<");
    size_t before = arguments != NULL ? (size_t)(arguments - name) : strlen(name);
    if (name[0] != '<') {
        return memchr(name, '(', before) == NULL && names_begin_with_any(name, crates);
    }
    const char *type = name + strspn(name, "<&"), *trait = trait_of(name);
    type += names_begin_with(type, "mut ") || names_begin_with(type, "dyn ") ? 4 : 0;
    bool path = names_begin_with(type + strcspn(type, " :<>,()[]*"), "::");
    return (trait == NULL || names_begin_with_any(trait, crates)) &&
           (!path || names_begin_with_any(type, crates));
}

/* Skips the result type before a template's name, which may be of the standard library: "std::vector<int>
 * app::make<int>(int)". So may the type after "operator". */
static const char *behind_result(const char *name) {
    const char *word = name;
    int depth = 0;
    for (const char *at = name; *at != 0 && (depth > 0 || *at != '('); at++) {
        depth += (*at == '<') - (*at == '>' && at > name && at[-1] != '-');
        if (depth == 0 && *at == ' ') {
            word = at + 1;
        }
        if (depth == 0 && names_begin_with(at, "operator") && (at == word || at[-1] == ':')) {
            break;
        }
    }
    return word;
}

/* "std::map<...>::clear()", "void std::__introsort<...>(...)". But std::function's call of a lambda is all
 * that is left of the lambda, and has its name in it. */
bool is_of_standard_library(const char *name) {
    const char *word = behind_result(name);
    return ((names_begin_with(word, "std::") || names_begin_with(word, "__gnu_cxx::")) &&
            strstr(name, "lambda") == NULL) ||
           is_of_rusts_library(name);
}

/* Of the system or of a language's library, wherever its compiler is. */
bool is_library_header(const char *file) {
    static const char *const folders[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/", "/rustc/",
                                          "/rust/deps/",   "/usr/src/rustc-",     NULL};
    return names_begin_with_any(file, folders) || strstr(file, "/include/c++/") != NULL ||
           strstr(file, "/lib/rustlib/src/rust/") != NULL || strstr(file, "/cargo/registry/") != NULL ||
           strstr(file, "/.cargo/registry/") != NULL;
}

/* Of demangled C++ without what stands between parentheses. */
bool is_library_loop(const char *name) {
    static const char *const loops[] = {"g_main_context_dispatch",
                                        "g_main_context_iteration",
                                        "g_main_loop_run",
                                        "g_application_run",
                                        "gtk_main",
                                        "gtk_dialog_run",
                                        "uv_run",
                                        "uv__io_poll",
                                        "event_base_loop",
                                        "ev_run",
                                        "aeMain",
                                        "aeProcessEvents",
                                        "QEventLoop::exec",
                                        "QEventLoop::processEvents",
                                        "QCoreApplication::exec",
                                        "wxAppConsoleBase::MainLoop",
                                        "Fl::run",
                                        "Fl::wait",
                                        "XtAppMainLoop",
                                        "XtAppProcessEvent",
                                        "Tcl_DoOneEvent",
                                        "Tk_MainLoop",
                                        "glutMainLoop",
                                        "sd_event_run",
                                        "sd_event_loop",
                                        "wl_display_dispatch",
                                        "wl_display_run",
                                        "wl_event_loop_dispatch",
                                        "__CFRunLoopRun",
                                        "CFRunLoopRunSpecific",
                                        "CFRunLoopRunInMode",
                                        "CFRunLoopRun",
                                        "-[NSApplication run]",
                                        "UIApplicationMain",
                                        "BaseEventLoop._run_once",
                                        "BaseEventLoop.run_forever",
                                        "Handle._run"};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        size_t n = strlen(loops[i]);
        if (strncmp(name, loops[i], n) == 0 && (name[n] == '\0' || name[n] == '(')) {
            return true;
        }
    }
    return false;
}
