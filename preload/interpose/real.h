/* SPDX-License-Identifier: MIT
 *
 * Looking up the real functions behind the interposed ones.
 */
#ifndef HD_REAL_H
#define HD_REAL_H

#include <stdint.h>

/* A sanitizer's runtime calls these before it is ready itself. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

/* Before any of them is called, where possible. Ordinary code. */
void hd_interpose_resolve(void);
void hd_jump_resolve(void);
void hd_interpose_resolve_process(void); /* those of interpose_process.c */
void hd_interpose_resolve_ids(void);     /* those of interpose_ids.c */
void hd_interpose_resolve_signals(void); /* those of interpose_signals.c */
void hd_interpose_resolve_shell(void);   /* those of interpose_shell.c */
void hd_interpose_resolve_events(void);  /* those of event_libraries.c, once */

/* The next definition of a function behind ours. errno is kept. */
void *hd_interpose_look_up(const char *name);
/* Those of several: `functions` holds pointers to them and nothing else, `names` has theirs in the same
 * order, each with its NUL, and one more at the end. */
void hd_interpose_look_up_all(void *functions, const char *names);

/* A cancelled thread, or an exception, unwinds through an interposer: what comes then is running. As the
 * interposer's personality routine it costs a wait nothing, and needs no unwinder to be loaded. */
int hd_wait_unwound(int version, int actions, uint64_t kind, void *exception, void *context);
#define CALLS_WHEN_UNWOUND __asm__ volatile(".cfi_personality 0x1b, hd_wait_unwound")

#endif
