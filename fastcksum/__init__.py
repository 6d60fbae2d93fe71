"""The Internet checksum (RFC 1071), fast, for any buffer at any offset; fastcksum.lab measures any kernel of it."""

from __future__ import annotations

try:
    from ._core import Checksum, checksum, combine, raw_cksum, raw_cksum_many, update_checksum, verify
except ModuleNotFoundError as error:
    if error.name != f"{__name__}._core":
        raise
    raise ImportError(
        f"the source folder {__path__[0]} hides the installed fastcksum and has no compiled extension in it: "
        "start Python in another folder, or run  pip install -e '.[test]'  here first"
    ) from None
from ._kernel import Kernel, active_kernel, kernels

__all__ = [
    "Checksum",
    "Kernel",
    "__version__",
    "active_kernel",
    "checksum",
    "combine",
    "kernels",
    "raw_cksum",
    "raw_cksum_many",
    "update_checksum",
    "verify",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib import metadata  # noqa: PLC0415 - it takes longer to import than all of this

        return metadata.version("fastcksum")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
