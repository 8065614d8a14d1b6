# SPDX-License-Identifier: MIT
"""The private words that the tree does not use, and the word of the field for each."""
import re

# In names, documents and messages.
PRIVATE = {
    "tell": "send, print, write", "tells": "sends, prints, shows", "told": "sent, printed, known", "telling": "printing",
    "teller": "reporter", "asked": "requested, queried, required", "held": "deferred, locked by, taken", "hold": "defer, lock, take",
    "holds": "keeps, locks, has", "past": "earlier turns", "beside": "next to, second thread", "witness": "signal probe",
    "closing": "summary", "afterwards": "then, settle", "alone": "only, single-threaded", "complain": "print_error",
    "excused": "ignored", "forgiven": "ignored", "forgive": "ignore", "chosen": "selected, --loop", "lent": "in use",
    "spared": "not signalled for now", "stray": "abandoned", "fans": "branches", "seldom": "rarely, slow path",
    "somebody": "the actor", "nobody": "no process, no user", "whoever": "the actor",
}
# In documents and messages only.
PRIVATE_PROSE = {
    "processor": "CPU", "processors": "CPUs", "computes": "runs on a CPU", "rung": "capture method", "ladder": "capture methods",
    "can be had": "is available", "goes on": "is still running", "go on": "still run", "beyond doubt": "certain",
    "looking back": "earlier turns", "code that was made at run time": "JIT code", "code made at run time": "JIT code",
    "left behind": "survivor", "in turn with": "alternating with",
}
# Names of libraries.
FOREIGN = {"uv_is_closing"}


def private_in(name):
    """The first private word of an identifier or a file's name."""
    if name in FOREIGN:
        return None
    for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name):
        if word.lower() in PRIVATE:
            return word
    return None
