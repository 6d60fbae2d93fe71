"""The C extension: sums, packets, the kernel registry, the bench. What fastcksum/__init__.py exports is public."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, Literal, Self, SupportsIndex, TypeAlias, TypedDict, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, CapsuleType

from ._kernel import Kernel
from .packets import Verdict

class _Description(TypedDict):
    name: str
    summary: str
    role: str
    needs: tuple[str, ...]
    min_len: int
    max_len: int
    vector_bits: int
    origin: str | None
    runs_here: bool
    code: bytes | None
    capsule: CapsuleType

class _TimerFacts(TypedDict):
    unit: str
    step: float
    pair: int
    hz: float

class _CpuFacts(TypedDict):
    features: tuple[str, ...]
    max_vector_bits: int
    registers: dict[str, Any]

class _BuildFacts(TypedDict):
    compiler: str  # and its version
    command: str
    flags: str
    byte_order: str

def raw_cksum(
    buf: Buffer,
    initial: SupportsIndex = 0,
    /,
    *,
    offset: SupportsIndex = 0,
    length: SupportsIndex | None = None,
    kernel: str | Kernel | None = None,
) -> int: ...
def raw_cksum_many(
    buf: Buffer,
    offsets: npt.ArrayLike,
    lengths: npt.ArrayLike,
    initial: npt.ArrayLike | None = None,
    *,
    out: npt.NDArray[np.uint16] | None = None,
    kernel: str | Kernel | None = None,
) -> npt.NDArray[np.uint16]: ...
def checksum(
    buf: Buffer,
    initial: SupportsIndex = 0,
    /,
    *,
    offset: SupportsIndex = 0,
    length: SupportsIndex | None = None,
) -> int: ...
def verify(
    buf: Buffer,
    initial: SupportsIndex = 0,
    /,
    *,
    offset: SupportsIndex = 0,
    length: SupportsIndex | None = None,
) -> bool: ...
def update_checksum(
    checksum: SupportsIndex,
    old: Buffer | SupportsIndex,
    new: Buffer | SupportsIndex,
    /,
    *,
    odd: bool = False,
    udp: bool = False,
    full_sum_zero: bool = False,
) -> int: ...
def combine(first: SupportsIndex, second: SupportsIndex, first_length: SupportsIndex) -> int: ...

@final
class Checksum:
    name: Final = "rfc1071"
    digest_size: Final = 2
    block_size: Final = 2
    def __new__(cls, data: Buffer = b"", /, *, initial: SupportsIndex = 0) -> Self: ...
    def update(self, data: Buffer, /) -> None: ...
    @property
    def raw(self) -> int: ...
    @property
    def value(self) -> int: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Self: ...

# Packets and captures.
LAYERS: Final[tuple[str, ...]]
STATUSES: Final[
    tuple[Literal["good"], Literal["bad"], Literal["partial"], Literal["none"], Literal["unchecked"]]
]
REASONS: Final[tuple[str, ...]]
COLUMNS: Final[tuple[str, ...]]
LINKS: Final[tuple[int, ...]]
NO_CAPTURE: Final[str]  # the damage of a file that is no capture at all

_Address: TypeAlias = Buffer | str | IPv4Address | IPv6Address
_Link: TypeAlias = Literal["ip", "ethernet"] | SupportsIndex

# layer, status, found, expected (given for status "none" too), offset, reason, IP protocol, src, dst; then what is
# summed: start, length (None: not known), a hole in it, the hole's length, and in network order the sums of the pseudo
# header, of the length in it, and of what the card will add
_Verdict: TypeAlias = tuple[
    int,
    int,
    int | None,
    int | None,
    int | None,
    int,
    int,
    bytes | None,
    bytes | None,
    int,
    int | None,
    int,
    int,
    int,
    int,
    int,
]

def pseudo_header(src: _Address, dst: _Address, protocol: SupportsIndex, length: SupportsIndex) -> int: ...
def ipv4_header_checksum(packet: Buffer, offset: SupportsIndex = 0) -> int: ...
def transport_checksum(packet: Buffer, offset: SupportsIndex = 0, *, link: _Link = "ip") -> int: ...
def verify_packet(packet: Buffer, offset: SupportsIndex = 0, *, link: _Link = "ip") -> list[Verdict]: ...
def fill_into(buffer: Buffer, offset: SupportsIndex = 0, *, link: _Link = "ip") -> int: ...
def fill_checksums(packet: Buffer, offset: SupportsIndex = 0, *, link: _Link = "ip") -> bytes: ...
def use_verdict_type(verdict_type: type[Verdict], /) -> None: ...  # what verify_packet makes
def packet_checks(
    buf: Buffer,
    offset: SupportsIndex,
    length: SupportsIndex | None,
    original_length: SupportsIndex | None,
    link: _Link,
    /,
) -> list[_Verdict]: ...

# -> verdicts of each packet (uint8), code of each verdict (uint8: 8 * layer + status), packets of unknown link types,
# and why nothing was judged in how many packets. counts, 256 numbers, goes up by the verdicts of each code.
def verify_packets(
    data: Buffer,
    offsets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.uint32],
    original_lengths: npt.NDArray[np.uint32],
    linktypes: npt.NDArray[np.uint16],
    counts: npt.NDArray[np.uint64],
    /,
) -> tuple[bytes, bytes, int, dict[str, int]]: ...

# Writes the fields whose status is in the set (bit 1 << index in STATUSES), and those around them -> packets changed,
# why nothing was judged in how many. before, changed, left: 256 numbers, by code, by code and by index in REASONS, go
# up.
def mend_packets(
    data: Buffer,
    offsets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.uint32],
    original_lengths: npt.NDArray[np.uint32],
    linktypes: npt.NDArray[np.uint16],
    statuses: int,
    before: npt.NDArray[np.uint64],
    changed: npt.NDArray[np.uint64],
    left: npt.NDArray[np.uint64],
    /,
) -> tuple[int, dict[str, int]]: ...

# Writes a row for each verdict whose code is wanted (256 bytes), from first_row on, into the arrays named COLUMNS ->
# the row behind the last. ValueError if a packet has other verdicts than per_packet and codes say. src and dst: 16
# bytes a row, flat.
def fill_columns(
    data: Buffer,
    offsets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.uint32],
    original_lengths: npt.NDArray[np.uint32],
    linktypes: npt.NDArray[np.uint16],
    times: npt.NDArray[np.int64],
    frames: npt.NDArray[np.int64],
    per_packet: Buffer,
    codes: Buffer,
    wanted: Buffer,
    first_packet: int,
    columns: tuple[npt.NDArray[Any], ...],
    first_row: int,
    /,
) -> int: ...

# Numbers the different addresses in the order in which they first occur: writes the code of each row, -1 where the
# version is 0, and returns int64, for each code a row that has it.
def encode_addresses(
    addresses: npt.NDArray[np.uint8], versions: npt.NDArray[np.uint8], codes: npt.NDArray[np.int32], /
) -> bytes: ...

# A capsule that keeps where a reading of a capture stands.
def capture_reader() -> CapsuleType: ...

# Fills the columns with the records in window[start:stop] -> (records, bytes taken, size of a window that would hold
# the next record or 0, damage in words or None, its offset in the file). final: the file ends with this window.
def scan_capture(
    reader: CapsuleType,
    window: Buffer,
    start: int,
    stop: int,
    final: bool,
    offsets: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.uint32],
    original_lengths: npt.NDArray[np.uint32],
    times: npt.NDArray[np.int64],
    linktypes: npt.NDArray[np.uint16],
    frames: npt.NDArray[np.int64],
    check_sequences: npt.NDArray[np.uint8] = ...,
    /,
) -> tuple[int, int, int, str | None, int]: ...

# The registry. A "kernel" argument below is a name, a Kernel, or a capsule.
def kernel_table() -> list[_Description]: ...
def describe(kernel: object, /) -> _Description: ...
def active_kernel_name() -> str: ...
def partial(kernel: object, buf: Buffer, sum: int, /) -> int: ...

# Loads a shared object that exports cksum_kernel_<symbol>; ImportError with the loader's words if it can't.
def load_kernel(path: str, symbol: str, /) -> CapsuleType: ...

# The first length in shortest..longest, and in the kernel's own limits, for which it differs from the reference, on
# data of this fill (0: zeros, 1: 0xff, 2: pseudo-random, 3: carry-heavy) placed at page start + offset behind a guard
# page, and (offset 0 only) also right before a guard page. None, or (length, offset from the start of its page, got,
# expected), both folded to 16 bits.
def find_difference(
    kernel: object, fill: int, offset: int, longest: int, initial: int, shortest: int = 0, /
) -> tuple[int, int, int, int] | None: ...

# Calls the kernel once. What it changed that the ABI lets its caller rely on, by name: registers, flags, control words.
def find_broken_state(kernel: object, buf: Buffer, /) -> tuple[str, ...]: ...
def timer_facts() -> _TimerFacts: ...
def cpu_facts() -> _CpuFacts: ...

# registers: {"max_leaf": int, "vendor": str, "leaf1_eax": int, "leaf1_ecx": int, "leaf1_edx": int, "leaf7_ebx": int,
# "leaf7_ecx": int, "leaf7_1_eax": int, "xcr0": int} -> (features, max_vector_bits, name of the production kernel that
# would be chosen)
def decode_cpuid(registers: dict[str, Any], /) -> tuple[tuple[str, ...], int, str]: ...
def build_facts() -> _BuildFacts: ...

# Counts `calls` calls of the kernel on buf[offset:offset+length] by its plain loop, user space only. -> (verdict,
# counts, errors): verdict "counted", "multiplexed", "not scheduled" or "malformed"; counts by event, empty unless
# "counted"; errors: why each other event was left out, an errno (E2BIG: given up so that the rest could be scheduled).
# Events: cycles, instructions, branches, branch_misses, ref_cycles, l1d_misses. OSError if none can be opened.
def count_events(
    kernel: object, buf: Buffer, offset: int, length: int, calls: int, /
) -> tuple[str, dict[str, int], dict[str, int]]: ...

# The same (verdict, counts) from a record as the kernel gives it: 64-bit words; ids of the events in their order, 0:
# not in the group.
def decode_counters(record: Buffer, ids: Sequence[int], /) -> tuple[str, dict[str, int]]: ...

# The file that the kernel was loaded from: this module's own for a built-in one. None where the loader doesn't tell.
def shared_object(kernel: object, /) -> str | None: ...

LOOPS: Final[tuple[str, ...]]
# The call loops: "plain" (the first span again and again), "dpdk" (ten blocks, volatile sum, folded), "each" (the spans
# in turn), "chain" (in turn, each address depends on the last result), "receive" (IPv4 packets: parse, sum, copy the
# payload)
ROLES: Final[tuple[str, ...]]
FLAGS: Final[dict[str, int]]  # "migrated", "switched", "faulted" -> bit in a sample's flags
CHAIN: Final[int]  # additions (and multiplications) in the chains whose ticks stand in each sample
SAMPLE_FIELDS: Final[list[tuple[str, str, int]]]  # name, NumPy format, byte offset of a sample record
SAMPLE_SIZE: Final[int]
GIL_RELEASE_BYTES: Final[int]

@final
class Bench:
    """Cells to time together. Holds the buffers and the kernels of its cells until it is deleted."""

    def add(
        self,
        kernel: object,
        buf: Buffer,
        offsets: Sequence[int],
        lengths: Sequence[int],
        /,
        *,
        loop: str = "plain",
        cold: bool = False,
        walk: bool = False,
        mixed: bool = False,
    ) -> int: ...
    """Adds a cell that calls the kernel on buf[offset:offset+length] for each pair, in turn; returns its index.
    A cold cell is flushed from the caches before each batch, which then is one call a span. A batch of a walk takes the
    next spans instead of turns over all of them. Mixed spans are a walk over copies of one set, as large as a batch,
    each shuffled before each visit; the first one warms the core."""
    def set_calls(self, cell: int, calls: int, /) -> None: ...
    def calibrate(self, target_ticks: int, /) -> list[int]: ...
    """Sizes the batch of every cell so that it lasts at least target_ticks; returns the calls of each."""
    def check(self) -> tuple[int, int, int, int, int] | None: ...
    """None, or (cell, offset, length, got, expected) of the first span whose folded sum isn't the reference's.
    Yardsticks are not checked."""
    def round(
        self,
        order: Sequence[int],
        number: int,
        out: Buffer,
        /,
        *,
        warm_ticks: int = 0,
        batches: int = 1,
        seed: int = 0,
    ) -> None: ...
    """Visits each cell named in order: runs its loop for warm_ticks and at least one batch, then times so many batches
    with nothing between them; writes len(order) * batches sample records to out. seed: of the order of mixed spans."""
    def learn(self, cell: int, calls: Sequence[int], number: int, seed: int, out: Buffer, /) -> None: ...
    """Runs other code until the branch predictor knows nothing of the cell, then times batches of calls[0], calls[1],
    ... calls; writes len(calls) sample records to out."""
