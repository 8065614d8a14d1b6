/* SPDX-License-Identifier: MIT
 * Keys, settings and notes in PostgreSQL, which several collectors share. A key that one collector makes or
 * revokes is valid or invalid for all within a second. One connection, and a lock for it.
 */
#ifndef COLLECTOR_STORE_POSTGRES_STATE_H
#define COLLECTOR_STORE_POSTGRES_STATE_H

#include "collector/store/state_backend.h"

/* `url`: postgresql://USER@HOST/DATABASE, as libpq takes it. Makes the tables, or brings them to the newest
 * version. NULL, and why; the text has no password. */
void *postgres_state_open(const char *url, struct problem *why);

extern const struct state_backend postgres_state;

#endif
