/* SPDX-License-Identifier: MIT
 *
 * The calls of CoreFoundation and of the Objective-C runtime in one table, which the first use fills by
 * dlsym. So the library links none of them, and a test gives its own. An object, a class and a selector are
 * `void *` here. On the program's threads: these calls allocate and lock.
 */
#ifndef HD_ADAPTER_FRAMEWORKS_H
#define HD_ADAPTER_FRAMEWORKS_H

#include "base/types.h"

typedef void (*hd_method)(void);
/* CFNotificationCallback */
typedef void (*hd_notified)(void *center, void *observer, const void *name, const void *object,
                            const void *info);

struct hd_objc_calls {
    void *(*class_named)(const char *name);
    void *(*selector)(const char *name);
    void *(*new_class)(void *base, const char *name, size_t extra);
    bool (*add_method)(void *type, void *selector, hd_method method, const char *types);
    void (*register_class)(void *type);
    /* objc_msgSend, in the types that the callers need. */
    void *(*send)(void *object, void *selector);
    void (*send_object)(void *object, void *selector, void *argument);
    void *(*send_two)(void *object, void *selector, void *one, void *other);
    bool (*send_responds)(void *object, void *selector, void *argument);
    double (*send_double)(void *object, void *selector);
};

struct hd_cf_calls {
    void *(*local_center)(void);
    void (*add_observer)(void *center, const void *observer, hd_notified call, const void *name,
                         const void *object, long behaviour);
    void (*remove_observer)(void *center, const void *observer);
    void *(*main_bundle)(void);
    /* The value of a key in the bundle's Info.plist; NULL: there is no such key. */
    const void *(*bundle_value)(void *bundle, const void *key);
    const void *(*new_text)(const void *allocator, const char *text, uint32_t encoding);
    void (*release)(const void *object);
};

struct hd_frameworks {
    struct hd_objc_calls objc;
    struct hd_cf_calls cf;
    /* The value of a pointer variable that some framework exports, such as the name of a notification; NULL:
     * no framework of the process has it. */
    const void *(*constant)(const char *name);
    bool loaded;
};

extern struct hd_frameworks hd_frameworks;

/* Fills the table, if it is not filled yet. A member is NULL if the process lacks its function. */
void hd_frameworks_load(void);
bool hd_frameworks_have_objc(void);
bool hd_frameworks_have_cf(void);

#endif
