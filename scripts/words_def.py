# SPDX-License-Identifier: MIT
"""The lines of src/base/words.def, for scripts and tests."""
import os
import re

import tree

FILE = "src/base/words.def"
ARGUMENT = re.compile(r'\s*((?:"[^"\\]*"\s*)+|[^",]+?)\s*(?:,|$)')


def arguments(text):
    """Strings without their quotes, neighbours joined; other arguments as they are written."""
    found = [match.group(1).strip() for match in ARGUMENT.finditer(text)]
    return ["".join(re.findall(r'"([^"]*)"', one)) if one.startswith('"') else one for one in found]


def words(root="."):
    """{set: [{column: value}]}: HD_WORD_CAUSE(...) is a row of the set `cause`. The #define names the columns."""
    text = tree.code(tree.read(os.path.join(root, FILE)))
    columns = {name: re.split(r",\s*", names) for name, names in re.findall(r"#define HD_WORD_(\w+)\(([^)]*)\)", text)}
    rows = {name.lower(): [] for name in columns}
    lines = re.sub(r"(?m)^#.*$", "", text)
    for name, inside in re.findall(r'HD_WORD_(\w+)\(((?:"[^"]*"|[^")])*)\)', lines):
        values = arguments(inside)
        if len(values) != len(columns[name]):
            raise SystemExit(f"{FILE}: HD_WORD_{name}({values[0]}: {len(values)} arguments, want {len(columns[name])}")
        rows[name.lower()].append(dict(zip(columns[name], values)))
    return rows


def of(rows, column="word"):
    """The values of a column, each once, without empty ones."""
    return list(dict.fromkeys(row[column] for row in rows if row[column]))
