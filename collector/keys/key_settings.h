/* SPDX-License-Identifier: MIT
 *
 * The limits of keys as settings of the store. Any thread.
 */
#ifndef COLLECTOR_KEY_SETTINGS_H
#define COLLECTOR_KEY_SETTINGS_H

#include <jansson.h>

#include "collector/keys/keys.h"

void key_settings_read(struct store *store, struct key_limits *out);

/* {"retention_days":90,"limits":{...},"grouping_version":1} */
json_t *key_settings_json(struct store *store);
/* Sets what `change` has of it. NULL, or what is wrong with it; then nothing is set. */
const char *key_settings_change(struct store *store, const json_t *change);

#endif
