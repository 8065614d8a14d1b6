# SPDX-License-Identifier: MIT
"""Reads the comments of C like documents: the rule of prose, sentence by sentence. scripts/check-prose prints what it finds."""
import fnmatch
import os
import re

import tree
import words

MOST_WORDS = 25
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(\[]*(?:[A-Z0-9`\"]|[a-z_]+: ))")
NO_ACTOR = re.compile(r"(who|whose|whoever|somebody|nobody|that which|what)\b(?!.*\?$)", re.IGNORECASE | re.DOTALL)
PRIVATE = re.compile(r"\b(" + "|".join(map(re.escape, [*words.PRIVATE, *words.PRIVATE_PROSE])) + r")\b(?! (?:by|for (?:reading|writing))\b)", re.IGNORECASE)
ODD = {
    r"(?<!there )(?<!there can )\b(?:is|was|are|were|be) none\b(?! (?:yet|left)\b)": "say 'is not a ...'",
    r"\bof its\b(?! own\b)": "name whose, or say \"its X's\"",
    r"\bto be had\b": "say 'available'", r"\bherewith\b": "say when", r"\bin any case\b": "say 'always'",
}
HELPER = r"(?:is|was|are|were|has|have|had|can|cannot|could|may|might|must|will|would|does|do|did|need|never|also)\b"
NOT_A_NOUN = rf"(?:{HELPER}|(?:of|that|which|who|whose|in|to|for|from|at|by|on|with|without|not|nor|less)\b|[,;:.])"
# "One thread" and "that time" are no pronouns, "one waits" and "those of libc" are.
PRONOUN = re.compile(rf"(?:(?:it|they|he|she)\b|(?:this|that|one)(?! of (?:the|our|an?|several|them|two)\b)(?: (?!\w*(?:ss|us|is)\b)\w+s\b(?!')| ?{NOT_A_NOUN})|"
                     rf"(?:these|those)(?: (?:return|run|change|map|give|take|stand|serve)\b| ?{NOT_A_NOUN}))", re.IGNORECASE)
NAME = re.compile(r"\b(?:hd_\w+|HD_\w+|[A-Za-z_]\w+(?=\(\)))(?![*\w])")
FILE = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.[ch])\b(?!:\d|\.\w)")
OTHERS = re.compile(r"kernel|glibc|libc\b|libstdc|CPython|Linux|musl|libuv|V8|Node", re.IGNORECASE)  # whose files a comment may name
IS_CODE = re.compile(r"NOLINT|clang-format|mov |[|+*=#-]{4}|[A-Za-z0-9_]+ *\(.*\);$")


class Tree:
    """What comments may name: words of the code, files."""

    def __init__(self):
        code = "\n".join(tree.code(tree.read(path)) for path in tree.files(".", ends=(".c", ".h", ".cc", ".S")))
        scripts = "\n".join(tree.read(path) for path in tree.files(".", ends=(".py", ".map", ".cmake", "CMakeLists.txt", ".def")))
        self.names = set(re.findall(r"\w+", code + scripts))
        self.paths = tree.files(".", ends=("",))

    def has_file(self, name):
        pattern = re.sub(r"(?<![A-Za-z])[A-Z]{1,}(?![A-Za-z])", "*", name)
        return any(fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, "*/" + pattern) for path in self.paths)


def masked(match):
    return ("QUOTED" if match.group()[0] == '"' else "CODE") + "\n" * match.group().count("\n")


def sentences(text):
    """(line, words of the sentence, as they stand, first of its comment) of each sentence of a C file's comments."""
    for line, body in tree.comments(text):
        first = True
        for paragraph in re.finditer(r"(?:[^\n@]|\n(?!\s*\n)|(?<!\n)(?<!^)(?<! )@)+", body):
            if "SPDX-License" in paragraph.group():
                continue
            start = line + body.count("\n", 0, paragraph.start())
            spoken = re.sub(r"`[^`]*`|\"[^\"]*\"|https?://\S+", masked, re.sub(r"^\s*(?:param \w+|retval \S+|return)", "", paragraph.group()))
            at = 0
            for end in [*SENTENCE_END.finditer(spoken), None]:
                sentence = spoken[at:end.start() if end else None]
                if re.search("[A-Za-z]", sentence) and not IS_CODE.match(sentence.strip()):
                    lead = len(sentence) - len(sentence.lstrip())
                    yield start + spoken.count("\n", 0, at + lead), " ".join(sentence.split()), first
                    first = False
                at = end.end() if end else 0


def count(sentence):
    return len(re.findall(r"[A-Za-z0-9][\w'./%-]*", sentence))


def faults(sentence, first):
    """Why the sentence breaks the rule, as far as its own words show it."""
    length = count(sentence)
    if length > MOST_WORDS:
        yield f"{length} words"
    if length > 3 and NO_ACTOR.match(sentence):
        yield "a subject that names no actor"
    private = PRIVATE.search(sentence)
    if private:
        yield f"'{private.group()}': the field says {words.PRIVATE.get(private.group().lower()) or words.PRIVATE_PROSE[private.group().lower()]}"
    for pattern, instead in ODD.items():
        odd = re.search(pattern, sentence, re.IGNORECASE)
        if odd:
            yield f"'{odd.group()}': {instead}"
    if first and PRONOUN.match(sentence):
        yield f"'{sentence.split()[0]}': a comment does not begin with a pronoun"


def missing(text, known):
    """(line, why) of each file and name of the tree that a comment names and that is not there."""
    for line, body in tree.comments(text):
        quoted = re.sub(r"\"[^\"\n]*\"", masked, body)
        for match in NAME.finditer(quoted):
            if match.group() not in known.names and not match.group().endswith("_"):
                yield line + quoted.count("\n", 0, match.start()), f"no {match.group()} in the tree"
        for match in FILE.finditer(quoted):
            if not known.has_file(match.group(1)) and not OTHERS.search(body):
                yield line + quoted.count("\n", 0, match.start()), f"no file {match.group(1)} in the tree"


class Room:
    def __init__(self):
        self.sentences, self.broken, self.found = 0, 0, []

    def percent(self):
        return 100 * self.broken / max(self.sentences, 1)


def rooms(paths):
    """{room: its sentences, how many break the rule, (path, line, why, sentence) of each finding}"""
    known, read = Tree(), {}
    for path in paths:
        room = read.setdefault(os.path.dirname(path) if path.startswith("include") else tree.room_of(path), Room())
        text = tree.read(path)
        for line, sentence, first in sentences(text):
            why = list(faults(sentence, first))
            room.sentences += count(sentence) > 3 or bool(why)
            room.broken += bool(why)
            room.found += [(path, line, reason, sentence) for reason in why]
        room.found += [(path, line, why, "") for line, why in missing(text, known)]
    return read
