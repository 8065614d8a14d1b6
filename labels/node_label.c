/* SPDX-License-Identifier: MIT
 *
 * hangdog_labels.node, an addon of Node: the function label(text, traceparent) calls hangdog_run_label of the
 * preload. Where `hangdog run` is not the parent, the addon exports no function. The five declarations are of
 * Node-API, whose ABI is stable, so that the build needs no headers of Node. On the program's threads.
 */
#include "labels/node_label.h"

#include <dlfcn.h>

#include "preload/waits/run_label.h"

#define LABEL_BYTES 256

static __typeof__(hangdog_run_label) *run_label;

/* An argument that is no string gives an empty text. */
static void text_of(napi_env env, napi_value value, char text[LABEL_BYTES]) {
    size_t n;
    if (value == NULL || napi_get_value_string_utf8(env, value, text, LABEL_BYTES, &n) != 0) {
        text[0] = '\0';
    }
}

static napi_value label(napi_env env, napi_callback_info info) {
    napi_value argument[2] = {NULL, NULL};
    char text[LABEL_BYTES], traceparent[LABEL_BYTES];
    size_t count = 2;
    if (napi_get_cb_info(env, info, &count, argument, NULL, NULL) == 0) {
        text_of(env, argument[0], text);
        text_of(env, argument[1], traceparent);
        run_label(text, traceparent);
    }
    return NULL;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
    napi_value function;
    run_label = (__typeof__(run_label))dlsym(RTLD_DEFAULT, "hangdog_run_label");
    bool made = run_label != NULL &&
                napi_create_function(env, "label", sizeof "label" - 1, label, NULL, &function) == 0;
    return made ? function : exports;
}
