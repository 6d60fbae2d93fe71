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

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    from typing import Any

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


_OF_KERNELS = {"Kernel", "active_kernel", "kernels"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata  # noqa: PLC0415 - it takes longer to import than all of this

        return metadata.version("fastcksum")
    if name in _OF_KERNELS:
        from . import _kernel  # noqa: PLC0415 - it loads dataclasses and inspect, which a sum does not need

        globals().update({each: getattr(_kernel, each) for each in _OF_KERNELS})
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
