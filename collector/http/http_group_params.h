/* SPDX-License-Identifier: MIT
 *
 * The parameters of a list of groups: app, version, state, seen, kind, sort, offset. One thread.
 */
#ifndef COLLECTOR_HTTP_GROUP_PARAMS_H
#define COLLECTOR_HTTP_GROUP_PARAMS_H

#include "collector/http/http_params.h"
#include "collector/store/store.h"

/* Sets what the address names; `p->why` has the fault of a wrong one. Texts are valid for the request's life.
 */
void http_group_params(struct http_params *p, struct store_group_filter *filter);

#endif
