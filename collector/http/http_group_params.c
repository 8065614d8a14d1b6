/* SPDX-License-Identifier: MIT */
#include "collector/http/http_group_params.h"

#include <stdio.h>

static const char *const states[] = {"open", "resolved", "ignored", NULL};
static const char *const sights[] = {"new", "regressed", NULL};
static const char *const kinds[] = {"hang", "other", NULL};
static const char *const orders[] = {
    [STORE_BY_TIME] = "time", [STORE_BY_COUNT] = "hangs", [STORE_BY_USERS] = "users",
    [STORE_BY_LAST] = "last", [STORE_BY_FIRST] = "first", NULL};

void http_group_params(struct http_params *p, struct store_group_filter *filter) {
    const int state = http_param_word(p, "state", -1, states), seen = http_param_word(p, "seen", -1, sights);
    filter->app = http_param_text(p, "app");
    filter->version = http_param_text(p, "version");
    if (filter->version[0] != '\0' && filter->app[0] == '\0' && p->why[0] == '\0') {
        snprintf(p->why, sizeof p->why, "app: name the app of the version");
    }
    filter->state = state < 0 ? "" : states[state];
    filter->only_new = seen == 0;
    filter->only_regressed = seen == 1;
    filter->kinds = (enum store_group_kinds)(STORE_HANGS + http_param_word(p, "kind", -1, kinds));
    filter->order = (enum store_order)http_param_word(p, "sort", STORE_BY_TIME, orders);
    filter->offset = http_param_number(p, "offset", 0, 0, PARAMS_OFFSET_MAX);
}
