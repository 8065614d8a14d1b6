/* SPDX-License-Identifier: MIT
 *
 * Looks up the real functions behind the interposed ones.
 */
#ifndef HD_REAL_H
#define HD_REAL_H

#include <stdint.h>

/* For functions that a sanitizer's runtime calls before it is initialised. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

/* Each looks up the real functions of one file. The constructor calls them; an interposed function that is
 * called earlier does too. Not async-signal-safe: dlsym takes the loader's lock. */
void hd_interpose_resolve(void);         /* waits.c, process.c, signals.c */
void hd_jump_resolve(void);              /* longjmp.c */
void hd_interpose_resolve_process(void); /* process.c */
void hd_interpose_resolve_ids(void);     /* set_ids.c */
void hd_interpose_resolve_signals(void); /* signals.c */
void hd_interpose_resolve_shell(void);   /* shell.c */
void hd_interpose_resolve_events(void);  /* event_libraries.c; only the first call has an effect */

/* The next definition of function `name` after ours; NULL: none. Keeps errno. */
void *hd_interpose_look_up(const char *name);
/* Looks up several functions. `functions` is a struct of function pointers only. `names` has a name for each
 * in the same order, each with a NUL, and an empty name at the end. */
void hd_interpose_look_up_all(void *functions, const char *names);

/* The personality routine of interposers. The unwinder calls it when a cancelled thread or an exception
 * leaves a wait: the turn then starts. A personality routine costs a wait nothing, and needs no loaded
 * unwinder. */
int hd_wait_unwound(int version, int actions, uint64_t kind, void *exception, void *context);
#define CALLS_WHEN_UNWOUND __asm__ volatile(".cfi_personality 0x1b, hd_wait_unwound")

#endif
