"""Every entry point with every allocation failing in turn, a hundred thousand times, and from many threads at once."""

from __future__ import annotations

from textwrap import dedent

import pytest
from entry_points import CALLS, Call
from test_abuse import run_script

IN_THIS_FOLDER = f"""
    import sys
    sys.path.insert(0, {__file__.rpartition("/")[0]!r})
"""


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_entry_points_do_as_the_list_says(call: Call) -> None:
    if call.raises is None:
        call.run()
    else:
        with pytest.raises(call.raises):
            call.run()


def test_no_allocation_that_fails_breaks_an_entry_point() -> None:
    script = """
        import _testcapi
        from entry_points import CALLS

        def outcome(call):
            try:
                call.run()
            except Exception as error:
                # CPython's own, where there is no memory for the traceback of Python code; zlib.crc32(object()) too
                own = str(error).startswith(("error return without exception set", "<function "))
                return MemoryError if isinstance(error, SystemError) and own else type(error)

        def with_one_failure(call, at):
            _testcapi.set_nomemory(at, at + 1)
            try:
                return outcome(call)
            finally:
                _testcapi.remove_mem_hooks()

        failures = 0
        for call in CALLS:
            outcome(call)
            for at in range(40):
                got = with_one_failure(call, at)
                assert got in (call.raises, MemoryError), (call.name, at, got)
                failures += got is MemoryError
            assert outcome(call) is call.raises, call.name
        print(failures)
    """
    assert int(run_script(dedent(IN_THIS_FOLDER) + dedent(script))) > 2 * len(CALLS)


def test_a_hundred_thousand_calls_leave_nothing_behind() -> None:
    script = """
        import gc, resource, sys
        import entry_points
        from entry_points import CALLS
        shared = {name: value for name, value in vars(entry_points).items() if name.isupper()}

        def repeat(call, times):
            run, raises = call.run, call.raises or ()
            for _ in range(times):
                try:
                    run()
                except raises:
                    pass

        def state():
            gc.collect()
            return sys.getallocatedblocks(), {name: sys.getrefcount(value) for name, value in shared.items()}

        def size():
            return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

        for call in CALLS:
            slow = call.name in SLOW
            repeat(call, 300)
            blocks, references = state()
            before = size()
            repeat(call, 2_000 if slow else 100_000)
            grown, now = size() - before, state()
            assert now[0] - blocks < 100, (call.name, now[0] - blocks)
            changed = {name for name in shared if now[1][name] != references[name]}
            assert not changed - {"None"}, (call.name, changed)
            assert grown < 4 << 20, (call.name, grown)
        print("done")
    """
    # these make whole tables of objects, map pages, or measure
    slow = {"kernels", "find_difference", "cpu_facts", "decode_cpuid", "load_kernel", "Bench", "build_facts"}
    assert run_script(dedent(IN_THIS_FOLDER) + f"SLOW = {slow!r}\n" + dedent(script)) == "done\n"


def test_sixteen_threads_share_an_object() -> None:
    script = """
        import threading
        import fastcksum
        from fastcksum import _core, packets
        from entry_points import CALLS, PACKET

        piece = bytes(range(256)) * 300  # above the size at which the interpreter's lock is released
        stream = fastcksum.Checksum()
        bench = _core.Bench()
        bench.add("portable64", piece, [0], [len(piece)])
        raw, good = fastcksum.raw_cksum(piece, kernel="reference"), packets.verify_packet(PACKET)
        wrong, refused = [], []
        start = threading.Barrier(16)

        def work(number):
            start.wait()
            for turn in range(40):
                stream.update(piece)
                try:
                    if bench.check() is not None:
                        wrong.append("bench")
                except RuntimeError as error:
                    refused.append(str(error))
                if fastcksum.raw_cksum(piece) != raw or packets.verify_packet(PACKET) != good:
                    wrong.append("sum")
                for call in CALLS[(number + turn) % 7 :: 7]:
                    try:
                        call.run()
                    except Exception as error:
                        if type(error) is not call.raises:
                            wrong.append((call.name, repr(error)))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        expected = 0
        for _ in range(16 * 40):
            expected = fastcksum.combine(expected, raw, len(piece))
        assert stream.raw == expected, (stream.raw, expected)
        assert not wrong, wrong[:5]
        assert all("in use by another thread" in text for text in refused)
        print("done")
    """
    assert run_script(dedent(IN_THIS_FOLDER) + dedent(script)) == "done\n"
