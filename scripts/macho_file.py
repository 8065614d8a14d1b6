# SPDX-License-Identifier: MIT
"""The load commands of a thin 64-bit Mach-O file, as scripts/check-apple needs them."""
import struct

MAGIC = 0xfeedfacf
APP_EXTENSION_SAFE = 0x02000000
LOAD_DYLIB, ID_DYLIB, SEGMENT, BUILD_VERSION, LOAD_WEAK_DYLIB = 0xc, 0xd, 0x19, 0x32, 0x80000018


def version(number):
    return f"{number >> 16}.{number >> 8 & 255}"


class MachO:
    """cpu, flags; id and libraries: install names; platform and minimum: of the build version; sections: {(segment, name): bytes}."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        magic, self.cpu, _, self.type, commands, _, self.flags, _ = struct.unpack_from("<8I", self.bytes)
        if magic != MAGIC:
            raise ValueError(f"{path} is no thin 64-bit Mach-O file")
        self.id, self.libraries, self.platform, self.minimum, self.sections = None, [], None, None, {}
        at = 32
        for _ in range(commands):
            command, size = struct.unpack_from("<2I", self.bytes, at)
            self.read(command, at, size)
            at += size

    def read(self, command, at, size):
        if command in (LOAD_DYLIB, LOAD_WEAK_DYLIB, ID_DYLIB):
            start = at + struct.unpack_from("<I", self.bytes, at + 8)[0]
            name = self.bytes[start:at + size].split(b"\0")[0].decode()
            if command == ID_DYLIB:
                self.id = name
            else:
                self.libraries.append(name)
        elif command == BUILD_VERSION:
            self.platform, minimum = struct.unpack_from("<2I", self.bytes, at + 8)
            self.minimum = version(minimum)
        elif command == SEGMENT:
            for i in range(struct.unpack_from("<I", self.bytes, at + 64)[0]):
                name, segment, _, length, offset = struct.unpack_from("<16s16sQQI", self.bytes, at + 72 + 80 * i)
                key = segment.rstrip(b"\0").decode(), name.rstrip(b"\0").decode()
                self.sections[key] = self.bytes[offset:offset + length]
