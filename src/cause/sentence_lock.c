/* SPDX-License-Identifier: MIT */
#include "cause/sentence.h"
#include "os/syscall_table.h"

/* Writes, for example, "waited for a semaphore", or "waited for a read-write lock held for reading by 3
 * threads". Adds "owner unknown" only for a kind of lock that stores its owner. A condition variable, for
 * example, has no owner. */
static void say_without_owner(struct hd_text *t, const struct hd_lock_seen *lock) {
    const char *name = hd_words_lock_name(lock->kind);
    hd_text_str(t, "waited for ");
    if (name == NULL) {
        hd_text_str(t, "a condition or lock, owner unknown");
        return;
    }
    hd_text_str(t, name);
    if (lock->readers != 0) {
        hd_text_str(t, " held for reading by ");
        hd_text_u64(t, lock->readers);
        hd_text_str(t, lock->readers == 1 ? " thread" : " threads");
    } else if (lock->ownable) {
        hd_text_str(t, ", owner unknown");
    }
}

/* Appends the name and the system call of the lock's owner, such as " (db-writer), which was in fsync of
 * journal.db". */
static void say_owners_call(struct hd_text *t, const struct hd_cause_sums *s) {
    const char *call = s->owner.syscall_nr != HD_SYSCALL_NONE ? hd_syscall_name(s->owner.syscall_nr) : NULL;
    if (s->owner.name[0] != '\0') {
        hd_text_str(t, " (");
        hd_sentence_field(t, s->owner.name, sizeof s->owner.name);
        hd_text_str(t, ")");
    }
    if (call != NULL) {
        hd_text_str(t, ", which was in ");
        hd_text_str(t, call);
        hd_text_str(t, s->owner.path != NULL ? " of " : "");
        hd_text_str(t, s->owner.path != NULL ? s->owner.path : "");
    }
}

/* Writes, for example, "waited for a mutex held by thread 9131". */
static void say_owner(struct hd_text *t, const struct hd_cause_sums *s, bool several,
                      const struct hd_lock_seen *lock) {
    bool read_write = lock->kind == HD_LOCK_READ || lock->kind == HD_LOCK_WRITE;
    const char *name = lock->kind == HD_LOCK_UNKNOWN ? "a mutex" : hd_words_lock_name(lock->kind);
    hd_text_str(t, "waited for ");
    hd_text_str(t, lock->gil ? "Python's GIL" : name);
    hd_text_str(t, read_write && !lock->gil ? " held for writing by " : " held by ");
    hd_text_str(t, several ? "several threads, longest by thread " : "thread ");
    hd_text_u64(t, lock->owner.number);
    if (hd_thread_id_equal(lock->owner, s->owner.thread)) {
        say_owners_call(t, s);
    }
}

void hd_sentence_database(struct hd_text *t, const struct hd_probe *p) {
    bool named = p->evidence.name[0] != '\0';
    hd_text_str(t, named ? "waited for a lock of " : "waited for ");
    hd_sentence_field(t, named ? p->evidence.name : hd_words_lock_name(HD_LOCK_DATABASE),
                      sizeof p->evidence.name);
    hd_sentence_party(t, " held by ", p, HD_PARTY_HOLDER);
}

void hd_sentence_lock(struct hd_text *t, const struct hd_cause_sums *s, const struct hd_cause_best *best,
                      bool several) {
    const struct hd_probe *p = &best->probe;
    const struct hd_lock_seen *lock = hd_evidence_lock(p);
    if (lock->kind == HD_LOCK_DATABASE) {
        hd_sentence_database(t, p);
    } else if (lock->address == 0 && lock->kind == HD_LOCK_UNKNOWN) {
        hd_text_str(t, "waited for a file lock");
        hd_sentence_call(t, " in ", p);
        hd_sentence_object(t, " on ", p);
        hd_sentence_party(t, " held by ", p, HD_PARTY_HOLDER);
    } else if (!hd_thread_id_is_none(lock->joined)) {
        hd_text_str(t, several ? "waited for several threads to end, one thread " : "waited for thread ");
        hd_text_u64(t, lock->joined.number);
        hd_text_str(t, several ? "" : " to end");
    } else if (!hd_thread_id_is_none(lock->owner)) {
        say_owner(t, s, best->several, lock);
    } else if (lock->gil) {
        hd_text_str(t, "waited for Python's GIL");
    } else {
        say_without_owner(t, lock);
    }
}
