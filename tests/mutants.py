"""Plants faults in the kernels, one at a time, and runs the C tests: each fault must be caught.

    python tests/mutants.py [--compiler gcc] [--jobs 2] [--emulated] [NAME ...]

Coverage says which lines ran; this says which errors would be seen. A fault is a replacement of text that occurs in the
file (the `occurrence`-th time), so a change of the sources that makes one obsolete is an error here, not a silent pass.
A fault in a kernel that does not run here survives: --emulated tries it by SIMDe's emulation of all vector kernels.
Exit code 1 if any fault survives.
"""

import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
CAPTURES: Final = ROOT / "tests" / "data" / "captures"
FLAGS: Final = ("-std=c11", "-w", f'-DTEST_CAPTURES="{CAPTURES}"')
TIMEOUT_SECONDS: Final = 900

SHORT: Final = "kernels/steps/short.h"
TEMPLATE: Final = "kernels/steps/vector_sum.h"
MASKED: Final = "kernels/steps/masked.h"
ZMM: Final = "kernels/steps/zmm.h"
LONG: Final = "kernels/steps/long.h"
CHAINS: Final = "kernels/steps/chains.h"
AVERAGES: Final = "kernels/steps/averages.h"
STREAMS: Final = "kernels/steps/streams.h"
XMM: Final = "kernels/steps/xmm.h"
YMM: Final = "kernels/steps/ymm.h"
ADC: Final = "kernels/x86_64_adc.c"


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file` below csrc, the `occurrence`-th `old` becomes `new`."""

    name: str
    file: str
    old: str
    new: str
    occurrence: int = 1


MUTANTS: Final = (
    # Short buffers in general registers
    Mutant("2 bytes of 4 to 7 from the wrong place", SHORT, "cksum_if_bit(n, 2, p + (n & 4))", "cksum_if_bit(n, 2, p)"),
    Mutant("odd byte of 7 from the wrong place", SHORT, "p + (n & 6)", "p + (n & 4)"),
    Mutant("start value dropped below 8 bytes", SHORT, "four + two + one + sum", "four + two + one"),
    Mutant("last word one byte late", SHORT, "cksum_load64(p + n - 8)", "cksum_load64(p + n - 7)"),
    Mutant("last word one byte short", SHORT, "cksum_load64(p + n - 8)", "cksum_load64(p + n - 9)"),
    Mutant("last word's shift for 4 bytes", SHORT, "-(8 * (unsigned)n) & 63", "-(8 * (unsigned)n) & 31"),
    Mutant("no condition: 16 bytes always", SHORT, "cksum_if_bit(whole, 16, p)", "p"),
    Mutant("whole words counted from n", SHORT, "const size_t whole = n - 1,", "const size_t whole = n,"),
    Mutant("carry dropped within 32 bytes", SHORT, '"adcq 8(%[two]), %[sum]', '"addq 8(%[two]), %[sum]'),
    Mutant("carry dropped before the last word", SHORT, '"adcq %[last], %[sum]', '"addq %[last], %[sum]'),
    Mutant("carry dropped in the fold", SHORT, '"adcl %k[upper], %k[sum]', '"addl %k[upper], %k[sum]'),
    Mutant("carry of the fold dropped", SHORT, '"adcl $0, %k[sum]"', '"nop"', 2),
    Mutant("carry of the fold dropped without BMI2", SHORT, '"adcl $0, %k[sum]"', '"nop"'),
    Mutant("carry dropped in 40 bytes", SHORT, '"adcq 32(%[p]), %[sum]', '"addq 32(%[p]), %[sum]'),
    Mutant("second chain's carry dropped to 64", SHORT, '"adcq $0, %[last]', '"addq $0, %[last]'),
    Mutant("second chain's carry dropped to 128", SHORT, '"adcq $0, %[last]', '"addq $0, %[last]', 2),
    Mutant("8 bytes of 64 from the wrong place", SHORT, "32(%[upper],%[at_one])", "32(%[upper])"),
    Mutant("8 bytes of 128 from the wrong place", SHORT, "andl $48, %k[whole]", "andl $32, %k[whole]"),
    # The masked and the overlapping tail
    Mutant("mask of the last word one bit short", SHORT, "0x0f, 0, 0x1f", "0x07, 0, 0x1f"),
    Mutant("mask of the last word one bit long", SHORT, "0x0f, 0, 0x1f", "0x1f, 0, 0x1f"),
    Mutant("masked word at the wrong place", MASKED, "(n - 1) & 24", "n & 24"),
    Mutant("no whole last word at a page end", MASKED, "cksum_last_word(p, n), sum)", "0, sum)"),
    Mutant("mask of the tail one bit short", TEMPLATE,
           "masked_first((n - 1) % VS_WIDTH + 1)", "masked_first((n - 1) % VS_WIDTH)"),
    Mutant("mask of the tail begins a byte late", TEMPLATE, "<< beyond % VS_WIDTH", "<< missing % VS_WIDTH"),
    Mutant("mask of the tail with the byte behind it", TEMPLATE, ">> missing % VS_WIDTH <<", ">> beyond % VS_WIDTH <<"),
    Mutant("masked tail of odd lengths one byte early", TEMPLATE, "p + -beyond - VS_WIDTH", "p + -missing - VS_WIDTH"),
    Mutant("no tail without a masked load", TEMPLATE, "return vs_keep_last(", "return VS_ZERO(); return vs_keep_last("),
    Mutant("window one byte off", TEMPLATE, "64 - VS_WIDTH + kept", "65 - VS_WIDTH + kept"),
    Mutant("window of the head one byte off", TEMPLATE, "vs_window + 64 - kept", "vs_window + 65 - kept"),
    Mutant("odd byte twice", TEMPLATE, "% VS_WIDTH + 1 - odd", "% VS_WIDTH + 1"),
    Mutant("odd byte not at all", TEMPLATE, "*sum += cksum_odd_byte(", "*sum += 0 * cksum_odd_byte("),
    Mutant("tail of odd lengths one byte late", TEMPLATE, "p + n - odd - VS_WIDTH", "p + n - VS_WIDTH"),
    # The vector template
    Mutant("bias off by four vectors", TEMPLATE, "VS_CONSTANT(bias8)", "VS_CONSTANT(bias16)"),
    Mutant("bias kept for steps not done", TEMPLATE, "VS_ADD32(a, VS_CONSTANT(minus_bias4))", "a"),
    Mutant("bias off by one block", LONG, "vs_chains_for(8 * blocks + 8)", "vs_chains_for(8 * blocks)"),
    Mutant("bias of the head forgotten", LONG,
           "vs_add(VS_BIAS(1), vs_keep_first", "vs_add(VS_ZERO(), vs_keep_first"),
    Mutant("one vector of 8 from the wrong place", TEMPLATE,
           "p + (whole & 6 * VS_WIDTH)", "p + (whole & 4 * VS_WIDTH)"),
    Mutant("one vector of 16 from the wrong place", TEMPLATE,
           "p + (whole & 14 * VS_WIDTH)", "p + (whole & 12 * VS_WIDTH)"),
    Mutant("two vectors of a rest from the wrong place", LONG, "p + (whole & 4 * VS_WIDTH)", "p"),
    Mutant("blocks counted from n", LONG, "const size_t blocks = (n - 1) /", "const size_t blocks = n /"),
    Mutant("class of 4 vectors one byte too long", TEMPLATE,
           "CKSUM_UNLIKELY(last < 4 * VS_WIDTH)", "CKSUM_UNLIKELY(last < 4 * VS_WIDTH + 1)"),
    Mutant("class of 8 vectors one byte too long", TEMPLATE,
           "CKSUM_UNLIKELY(last < 8 * VS_WIDTH)", "CKSUM_UNLIKELY(last < 8 * VS_WIDTH + 1)"),
    Mutant("class of 16 vectors one byte too long", TEMPLATE,
           "CKSUM_UNLIKELY(last < 16 * VS_WIDTH)", "CKSUM_UNLIKELY(last < 16 * VS_WIDTH + 1)"),
    Mutant("shift for rotate", LONG, "sum << rotation | sum >> (-rotation & 63)", "sum << rotation"),
    Mutant("no rotation", LONG, "rotation = 8 * (unsigned)odd", "rotation = 0 * (unsigned)odd"),
    Mutant("odd first byte dropped", LONG, "*sum += cksum_odd_byte(*p) * odd;", ""),
    Mutant("lanes flushed too late", LONG,
           "VS_FLUSH_VECTORS 16384u\n_Static_assert(VS_FLUSH_VECTORS * 131070ull <= UINT32_MAX,",
           "VS_FLUSH_VECTORS 65536u\n_Static_assert(1,"),
    Mutant("lanes of all vectors in 32 bits", LONG, "VS_LONGEST_TOTAL 131072u", "VS_LONGEST_TOTAL 1048576u"),
    Mutant("streams: a quarter of a vector too far", STREAMS, "third + quarter + VS_WIDTH", "third + quarter"),
    Mutant("streams: rest not moved on", STREAMS, "*at += 4 * quarter;", "*at += 4 * quarter - VS_WIDTH;"),
    Mutant("streams: rounds counted from n", STREAMS, "(*left - 1) / (8 * VS_WIDTH)", "*left / (8 * VS_WIDTH)"),
    # The averaging tree
    Mutant("trees flushed too late", AVERAGES,
           "VS_FLUSH_TREES 1024u\n_Static_assert(VS_FLUSH_TREES * 32u < 65536u,",
           "VS_FLUSH_TREES 2048u\n_Static_assert(1,"),
    Mutant("averages of upper words forgotten", AVERAGES, "VS_ADD32(upper, VS_SRL32(average, 16))", "upper"),
    Mutant("upper words left in the lower ones", AVERAGES, "VS_SUB32(both, VS_SLL32(upper, 16))", "both"),
    Mutant("tree taken for one of 8", AVERAGES, "VS_SLL32(averages, 4)", "VS_SLL32(averages, 3)"),
    Mutant("odd vectors' words dropped", AVERAGES, "VS_ADD16(even, odd)", "even"),
    # Steps and reductions
    Mutant("words taken as signed", TEMPLATE, "VS_XOR(v, words.flip)", "v"),
    Mutant("a vector on the wrong accumulator", CHAINS, "p + 5 * VS_WIDTH", "p + 4 * VS_WIDTH"),
    Mutant("second four accumulators dropped", CHAINS,
           "VS_ADD32(low, VS_ADD32(VS_ADD32(of[4]", "VS_ADD32(low, VS_ADD32(VS_ADD32(low"),
    Mutant("upper half of the lanes twice", ZMM,
           "_mm512_extracti64x4_epi64(lanes, 1)", "_mm512_castsi512_si256(lanes)"),
    Mutant("upper half of ymm lanes dropped", YMM, "_mm256_extracti128_si256(lanes, 1)", "_mm_setzero_si128()", 2),
    Mutant("upper half of wide ymm lanes dropped", YMM, "_mm256_extracti128_si256(lanes, 1)", "_mm_setzero_si128()"),
    Mutant("odd lanes dropped in a flush", TEMPLATE, "VS_ADD64(VS_AND(a, low), VS_SRL64(a, 32))", "VS_AND(a, low)"),
    Mutant("upper halves of four vectors dropped", TEMPLATE, "VS_ADD64(lower, upper)", "lower"),
    Mutant("upper halves of four vectors left in the sum", TEMPLATE, "VS_SUB64(all, VS_SLL64(upper, 32))", "all"),
    Mutant("bulk: byte behind an odd one not moved", LONG, "cksum_odd_byte(*p) << 8 |", "0 |"),
    Mutant("bulk: words before the boundary forgotten", LONG, "cksum_add64(inner, head), rotat", "(inner), rotat"),
    Mutant("upper lanes of xmm dropped", XMM, "_mm_unpackhi_epi64(lanes, lanes)", "_mm_setzero_si128()"),
    # General registers, longer
    Mutant("adc: carry dropped in a group", ADC, "ADC_FOUR(64, 72, 80, 88)",
           '"addq 64(%[p]), %[part]\\n\\tadcq 72(%[p]), %[part]\\n\\t'
           'adcq 80(%[p]), %[part]\\n\\tadcq 88(%[p]), %[part]\\n\\t"'),
    Mutant("adc: last carry of a group dropped", ADC, '"adcq $0, %[sum]"', '"nop"'),
    Mutant("adc: 32-bit words forgotten", ADC, "sum = cksum_add64(sum, halves);", ""),
    Mutant("adc: a word twice", ADC, "112, 120)", "112, 112)"),
    Mutant("adc: groups counted from n", ADC, "(*left - 65) / GROUP", "(*left - 64) / GROUP"),
    Mutant("portable64: carries dropped", "kernels/portable64.c",
           "carries0 + carries1 + carries2 + carries3", "carries0"),
    Mutant("rest reads a whole word of less than 8 bytes", "kernels/steps/rest.h",
           "return cksum_add64(sum, cksum_load_tail(p, n));",
           "return cksum_add64(sum, n ? cksum_load64(p) << (64 - 8 * n) >> (64 - 8 * n) : 0);"),
    Mutant("end-around carry dropped", "base/fold.h", "return sum + carry; /* no second", "return sum; /* no second"),
)  # fmt: skip


@dataclass(frozen=True)
class Build:
    """The sources compiled once: object file by source file, and the headers of each."""

    compiler: tuple[str, ...]
    objects: dict[Path, Path]
    includes: dict[Path, frozenset[str]]


def compile_one(compiler: tuple[str, ...], source: Path, csrc: Path, target: Path) -> None:
    """Compiles a source, taking the headers of csrc. Raises CalledProcessError."""
    command: list[str | Path] = [
        *compiler,
        *FLAGS,
        "-I",
        csrc,
        "-I",
        ROOT / "tests" / "c",
        "-c",
        source,
        "-o",
        target,
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)


def emulation() -> tuple[str, ...]:
    """The flags of tests/c/run_emulated.sh."""
    package = find_spec("simde_py")
    if package is None or package.submodule_search_locations is None:
        raise SystemExit("--emulated needs SIMDe: pip install simde-py")
    simde = f"{package.submodule_search_locations[0]}/simde"
    return "-O3", '-DCKSUM_EMULATE_X86="x86_emulated.h"', "-isystem", simde, "-fwrapv", "-Wno-psabi"


def headers_of(compiler: tuple[str, ...], source: Path) -> frozenset[str]:
    """The paths below csrc of all headers that a source includes, and of the source itself."""
    command: list[str | Path] = [
        *compiler,
        *FLAGS,
        "-I",
        ROOT / "csrc",
        "-I",
        ROOT / "tests" / "c",
        "-MM",
        source,
    ]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    paths = (Path(word) for word in words if word.endswith((".h", ".c")))
    return frozenset(str(p.relative_to(ROOT / "csrc")) for p in paths if p.is_relative_to(ROOT / "csrc"))


def build(compiler: tuple[str, ...], folder: Path, jobs: int) -> Build:
    """Compiles what tests/c/run.sh compiles, without a fault."""
    sources = [
        *(ROOT / "csrc" / "base").glob("*.c"),
        *(ROOT / "csrc" / "kernels").rglob("*.c"),
        *(ROOT / "csrc" / "core").glob("*.c"),
        *(ROOT / "csrc" / "packet").glob("*.c"),
        ROOT / "csrc" / "bench" / "timing.c",
        *(ROOT / "tests" / "c").glob("*.c"),
    ]
    objects = {source: folder / f"{number}.o" for number, source in enumerate(sources)}
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda s: compile_one(compiler, s, ROOT / "csrc", objects[s]), sources))
        includes = dict(zip(sources, pool.map(lambda s: headers_of(compiler, s), sources), strict=True))
    return Build(compiler, objects, includes)


def planted(text: str, mutant: Mutant) -> str:
    """The text with the fault in it. ValueError if it has no place for it."""
    parts = text.split(mutant.old)
    if len(parts) <= mutant.occurrence:
        raise ValueError(
            f"{mutant.name}: {mutant.file} has no occurrence {mutant.occurrence} of {mutant.old!r}"
        )
    before, after = mutant.old.join(parts[: mutant.occurrence]), mutant.old.join(parts[mutant.occurrence :])
    return before + mutant.new + after


def verdict(built: Build, mutant: Mutant | None) -> str:
    """How the tests ended with the fault: "survived" or what caught it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csrc = folder / "csrc"
        subprocess.run(["cp", "-r", ROOT / "csrc", csrc], check=True)
        objects = dict(built.objects)
        if mutant is not None:
            target = csrc / mutant.file
            target.write_text(planted(target.read_text(), mutant))
            affected = [source for source, headers in built.includes.items() if mutant.file in headers]
            for number, source in enumerate(affected):
                inside = (
                    csrc / source.relative_to(ROOT / "csrc")
                    if source.is_relative_to(ROOT / "csrc")
                    else source
                )
                objects[source] = folder / f"{number}.o"
                try:
                    compile_one(built.compiler, inside, csrc, objects[source])
                except subprocess.CalledProcessError as error:
                    raise ValueError(f"{mutant.name} does not compile: {error.stderr[:300]}") from None
        program = folder / "tests"
        subprocess.run([*built.compiler, *objects.values(), "-o", program], check=True)
        return first_failure(program)


def first_failure(program: Path) -> str:
    """The first complaint of the tests, which then are stopped; or "survived"."""
    with subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        timer = Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        complaint = process.stderr.readline().rstrip()
        process.kill()  # harmless if it has ended; a complaint is enough
        returncode = process.wait()
        timer.cancel()
    if complaint:
        return complaint.rpartition("/")[2]
    return "survived" if returncode == 0 else f"signal {-returncode}"


def main() -> int:
    """Prints one line a fault, then the count."""
    parser = argparse.ArgumentParser(description="Plant faults in the kernels; the C tests must catch each.")
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--emulated", action="store_true", help="with the vector kernels emulated (package simde-py)"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only the faults whose name contains one of these"
    )
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.names or any(name in m.name for name in options.names)]
    with tempfile.TemporaryDirectory() as name:
        built = build(
            (options.compiler, *(emulation() if options.emulated else ("-O2",))), Path(name), options.jobs
        )
        if (without := verdict(built, None)) != "survived":
            sys.exit(f"the tests fail without a fault: {without}")
        with ThreadPoolExecutor(options.jobs) as pool:
            verdicts = []
            for mutant, how in zip(chosen, pool.map(lambda m: verdict(built, m), chosen), strict=True):
                print(
                    f"{'SURVIVED' if how == 'survived' else 'caught  '}  {mutant.name:45}  {how}", flush=True
                )
                verdicts.append(how)
    survivors = verdicts.count("survived")
    print(f"{len(verdicts) - survivors} of {len(verdicts)} faults caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
