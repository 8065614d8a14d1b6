/* SPDX-License-Identifier: MIT
 *
 * The limits of keys as settings of the store. Any thread.
 */
#ifndef COLLECTOR_KEY_SETTINGS_H
#define COLLECTOR_KEY_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>

#include "collector/keys/keys.h"

/* False: the store failed, and `out` is as before. */
bool key_settings_read(struct store *store, struct key_limits *out);

/* {"retention_days":90,"limits":{...},"grouping_version":1} */
json_t *key_settings_json(struct store *store);
/* The fault of a change of the settings; NULL: none. */
const char *key_settings_fault(const json_t *change);
/* Stores the settings in `change`, which has no fault. False: the store failed. */
bool key_settings_change(struct store *store, const json_t *change);

#endif
