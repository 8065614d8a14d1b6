/* SPDX-License-Identifier: MIT
 *
 * The part of Node-API, version 1, that the addon needs.
 */
#ifndef NODE_LABEL_H
#define NODE_LABEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);

/* Each returns 0 or an error. An argument that the caller did not pass becomes `undefined`. */
int napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv, napi_value *self,
                     void **data);
int napi_get_value_string_utf8(napi_env env, napi_value value, char *text, size_t size, size_t *length);
int napi_create_function(napi_env env, const char *name, size_t length, napi_callback call, void *data,
                         napi_value *result);

/* Node calls it when the program loads the addon. */
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

#endif
