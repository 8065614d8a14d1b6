# SPDX-License-Identifier: MIT
"""Builds the wheel of hangdog.py for pip (PEP 517). It needs no package, so that pip needs no network."""

import base64
import hashlib
import os
import re
import zipfile


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    with open("hangdog.py", encoding="utf-8") as file:
        module = file.read()
    version = re.search(r'(?m)^__version__ = "(.*)"$', module).group(1)
    info = "hangdog-%s.dist-info/" % version
    files = {
        "hangdog.py": module,
        info + "METADATA": "Metadata-Version: 2.1\nName: hangdog\nVersion: %s\nLicense: MIT\nRequires-Python: >=3.8\n"
                           "Summary: Reports hangs of asyncio's event loop, with the functions that caused them\n" % version,
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: hangdog\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (name, digest, len(text.encode()))
    files[info + "RECORD"] = record + info + "RECORD,,\n"
    wheel = "hangdog-%s-py3-none-any.whl" % version
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
