/* SPDX-License-Identifier: MIT */
#include "cli/reader/lock_function.h"

#include <string.h>

#define INNERMOST 6 /* further out a callback may have been called */

/* Both parts are in the name: Rust writes "a::Mutex::lock_contended", or by newer compilers
 * "<a::Mutex>::lock_contended". */
static const struct {
    const char *type, *method, *what;
} locks[] = {
    {"::mutex::futex::Mutex", "::lock_contended", "a mutex of Rust"},
    {"::futex_mutex::Mutex", "::lock_contended", "a mutex of Rust"},
    {"::condvar::futex::Condvar", "::wait", "a condition variable of Rust"},
    {"::futex_condvar::Condvar", "::wait", "a condition variable of Rust"},
    {"::rwlock::futex::RwLock", "::", "a read-write lock of Rust"},
    {"::futex_rwlock::RwLock", "::", "a read-write lock of Rust"},
};

const char *report_lock_function(const json_t *frames) {
    for (size_t i = 0; i < INNERMOST && i < json_array_size(frames); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(frames, i), "function"));
        for (size_t k = 0; name != NULL && k < sizeof locks / sizeof locks[0]; k++) {
            if (strstr(name, locks[k].type) != NULL && strstr(name, locks[k].method) != NULL) {
                return locks[k].what;
            }
        }
    }
    return NULL;
}
