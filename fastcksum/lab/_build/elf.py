"""Reads an ELF object file: how much code a kernel is, and a hash of it that no linker and no placement changes.

What the linker fills in is not in an object: the fields of addresses are empty, and relocations say what belongs there.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# System V ABI, ELF-64 object file format
_ELF64 = b"\x7fELF\x02"
_BYTE_ORDER = {1: "<", 2: ">"}
_SHT_RELA, _SHT_NOBITS = 4, 8
_SHF_STRINGS = 0x20
_RESERVED_INDEX = 0xFF00
# Symbols that the linker makes.
_BY_THE_LINKER = ("_GLOBAL_OFFSET_TABLE_", "__start_", "__stop_")


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    type: int
    flags: int
    bytes: bytes
    link: int
    info: int


class ElfObject:
    """An ELF-64 object file. ValueError if the bytes are something else, as those of link-time optimisation may be."""

    def __init__(self, data: bytes) -> None:
        order = _BYTE_ORDER.get(data[5]) if data.startswith(_ELF64) and len(data) >= 64 else None
        if order is None:
            raise ValueError("not an ELF-64 object file")
        self._order = order
        table, entry, count, names = (
            *struct.unpack_from(f"{order}Q", data, 40),
            *struct.unpack_from(f"{order}3H", data, 58),
        )
        heads = [struct.unpack_from(f"{order}IIQQQQIIQQ", data, table + i * entry) for i in range(count)]
        strings = data[heads[names][4] :] if count else b""
        self._sections = [
            _Section(
                name=_string(strings, name),
                type=kind,
                flags=flags,
                bytes=b"" if kind == _SHT_NOBITS else data[offset : offset + size],
                link=link,
                info=info,
            )
            for name, kind, flags, _, offset, size, link, info, _, _ in heads
        ]

    def has(self, section: str) -> bool:
        """Whether there is a section of this name."""
        return any(each.name == section for each in self._sections)

    def code(self, section: str) -> bytes:
        """The bytes of a section. ValueError that names it if there is none."""
        return self._sections[self._index(section)].bytes

    def sha256(self, section: str) -> str:
        """Hash of a section's bytes, of its relocations, and of all sections that it refers to, such as constants.

        Of text that it refers to (sections of strings) only the fact counts: it may hold a path or a version.
        """
        digest = hashlib.sha256()
        for index in self._reached(section):
            digest.update(self._sections[index].bytes)
            for offset, kind, target, target_section in self._relocations(index):
                text = target_section is not None and self._holds_text(target_section)
                digest.update(f"{offset} {kind} {'text' if text else target}\n".encode())
        return digest.hexdigest()

    def refers_outside(self, section: str) -> bool:
        """Whether a section, or one that it refers to, needs what the object doesn't define."""
        return any(
            target_section is None and target and not target.startswith(_BY_THE_LINKER)
            for index in self._reached(section)
            for _, _, target, target_section in self._relocations(index)
        )

    def _reached(self, section: str) -> list[int]:
        """The section and all that it refers to, directly or not, but sections of strings."""
        reached = [self._index(section)]
        for index in reached:  # grows while it is read
            targets = (target for _, _, _, target in self._relocations(index))
            reached += [
                target
                for target in dict.fromkeys(targets)
                if target is not None and target not in reached and not self._holds_text(target)
            ]
        return reached

    def _holds_text(self, index: int) -> bool:
        return bool(self._sections[index].flags & _SHF_STRINGS)

    def _index(self, section: str) -> int:
        for index, each in enumerate(self._sections):
            if each.name == section:
                return index
        raise ValueError(f"the object has no section {section}")

    def _relocations(self, index: int) -> Iterator[tuple[int, int, str, int | None]]:
        """(offset, type, what it refers to, that one's section if it is in the file) of each one of a section."""
        for table in self._sections:
            if table.type != _SHT_RELA or table.info != index:
                continue
            for offset, info, _ in struct.iter_unpack(f"{self._order}QQq", table.bytes):
                name, section = self._symbol(table.link, info >> 32)
                yield offset, info & 0xFFFFFFFF, name, section

    def _symbol(self, table: int, number: int) -> tuple[str, int | None]:
        """(name, section) of a symbol; a defined one goes by its section's name, since its own may be a label."""
        symbols = self._sections[table]
        name, _, _, section, _, _ = struct.unpack_from(f"{self._order}IBBHQQ", symbols.bytes, number * 24)
        if 0 < section < _RESERVED_INDEX:
            return self._sections[section].name, section
        return _string(self._sections[symbols.link].bytes, name), None


def _string(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode(errors="replace")
