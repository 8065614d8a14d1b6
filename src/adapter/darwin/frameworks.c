/* SPDX-License-Identifier: MIT */
#include "adapter/darwin/frameworks.h"

#include <dlfcn.h>
#include <string.h>

struct hd_frameworks hd_frameworks;

static const void *constant(const char *name) {
    const void *const *variable = dlsym(RTLD_DEFAULT, name);
    return variable != NULL ? *variable : NULL;
}

/* Stores the function of that name, or NULL, at `member`. All pointers to functions have one layout. */
static void find(void *member, const char *name) {
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(member, &function, sizeof function);
}

void hd_frameworks_load(void) {
    struct hd_objc_calls *o = &hd_frameworks.objc;
    struct hd_cf_calls *c = &hd_frameworks.cf;
    if (hd_frameworks.loaded) {
        return;
    }
    hd_frameworks.loaded = true;
    hd_frameworks.constant = constant;
    find(&o->class_named, "objc_getClass");
    find(&o->selector, "sel_registerName");
    find(&o->new_class, "objc_allocateClassPair");
    find(&o->add_method, "class_addMethod");
    find(&o->register_class, "objc_registerClassPair");
    find(&o->send, "objc_msgSend");
    find(&o->send_object, "objc_msgSend");
    find(&o->send_two, "objc_msgSend");
    find(&o->send_responds, "objc_msgSend");
    find(&o->send_double, "objc_msgSend");
    find(&c->local_center, "CFNotificationCenterGetLocalCenter");
    find(&c->add_observer, "CFNotificationCenterAddObserver");
    find(&c->remove_observer, "CFNotificationCenterRemoveEveryObserver");
    find(&c->main_bundle, "CFBundleGetMainBundle");
    find(&c->bundle_value, "CFBundleGetValueForInfoDictionaryKey");
    find(&c->new_text, "CFStringCreateWithCString");
    find(&c->release, "CFRelease");
}

bool hd_frameworks_have_objc(void) {
    const struct hd_objc_calls *o = &hd_frameworks.objc;
    return o->class_named != NULL && o->selector != NULL && o->new_class != NULL && o->add_method != NULL &&
           o->register_class != NULL && o->send != NULL;
}

bool hd_frameworks_have_cf(void) {
    const struct hd_cf_calls *c = &hd_frameworks.cf;
    return c->local_center != NULL && c->add_observer != NULL && c->remove_observer != NULL;
}
