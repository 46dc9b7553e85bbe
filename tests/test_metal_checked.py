"""What a checked kernel gives away: bounds, views, unwritten memory, races, divergence, undefined operations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from pipeline.metal import Compilation, Event, KernelCrash, Launch, Library, Note, Report, compile_shader

SOURCE = """
#include <metal_stdlib>
using namespace metal;
#define INDEX uint i [[thread_position_in_grid]]
#define LOCAL uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]

kernel void copy(device float* o, constant float* a, INDEX) { o[i] = a[i]; }
kernel void read_past(device float* o, constant float* a, INDEX) {
    o[i] = a[i + 1];  // read past
}
kernel void write_past(device float* o, constant float* a, INDEX) {
    o[i + 2] = a[i];  // write past
}
kernel void read_before(device float* o, constant float* a, INDEX) { o[i] = a[int(i) - 1]; }
kernel void far(device float* o, constant float* a, INDEX) { o[i] = a[i * 100000l]; }
kernel void sizes(device float* o, constant long* sizes, constant uint& n, INDEX) { o[i] = sizes[n]; }
kernel void listed(constant array<device float*, 2>& t, INDEX) { t[1][i] = t[0][i]; }

kernel void reverse_ok(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64];
    tile[i] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = tile[n - 1 - i];
}
kernel void reverse_racy(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64];
    tile[i] = a[i];  // racy write
    o[i] = tile[n - 1 - i];  // racy read
}
kernel void no_fence(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64];
    tile[i] = a[i];
    threadgroup_barrier(mem_flags::mem_device);
    o[i] = tile[n - 1 - i];
}
kernel void second_round(device float* o, constant float* a, threadgroup float* tile [[threadgroup(0)]], LOCAL) {
    for (uint round = 0; round < 2; ++round) {
        tile[i] = a[i] + round;  // round write, behind a missing barrier
        threadgroup_barrier(mem_flags::mem_threadgroup);
        o[i] = tile[n - 1 - i];  // round read
    }
}
kernel void unwritten(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64], other[64];
    if (i > 0) tile[i] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = tile[n - 1 - i];  // unwritten read
}
kernel void past_tile(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[8];
    tile[i] = a[i];  // tile write
    o[i] = tile[i];  // tile read
}
kernel void past_pointer(device float* o, constant float* a, LOCAL) {
    threadgroup float first[16], second[16];
    threadgroup float* p = first;
    p[i] = second[i % 16] = a[i];  // past pointer
    o[i] = 0;
}
struct Padded { half h; float3 v; };
kernel void padded(device Padded* o, constant float* a, LOCAL) {
    threadgroup Padded all[4];
    all[i].h = half(a[i]);
    all[i].v = float3(a[i], 1, 2);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = all[n - 1 - i];
}
kernel void within_simdgroup(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64];
    tile[i] = a[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = tile[i ^ 1];
}
kernel void across_simdgroups(device float* o, constant float* a, LOCAL) {
    threadgroup float tile[64];
    tile[i] = a[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = tile[i ^ 32];
}
kernel void counters(device int* o, LOCAL) {
    threadgroup atomic_int count;
    if (i == 0) atomic_store_explicit(&count, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = atomic_load_explicit(&count, memory_order_relaxed);
}
kernel void scatter(device int* o, constant int* to, INDEX) {
    o[to[i]] = int(i);  // scatter
}
kernel void scatter_add(device atomic_int* o, constant int* to, INDEX) {
    atomic_fetch_add_explicit(o + to[i], 1, memory_order_relaxed);
}
kernel void shift_in_place(device float* x, INDEX) { x[i] = x[i + 1]; }
kernel void early_exit(device float* o, LOCAL) {
    if (i >= 20) return;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // early barrier
    o[i] = i;
}
kernel void two_barriers(device float* o, LOCAL) {
    if (i < 5) threadgroup_barrier(mem_flags::mem_threadgroup);  // first barrier
    else threadgroup_barrier(mem_flags::mem_threadgroup);  // second barrier
    o[i] = i;
}
kernel void two_functions(device float* o, LOCAL) {
    if (i < 5) o[i] = simd_sum(1.0f);  // first function
    else o[i] = simd_max(2.0f);  // second function
}
kernel void some_lanes(device float* o, LOCAL) {
    float v = i;
    if (i < 2) v = simd_sum(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = v;
}
kernel void undefined(device int* o, constant int* a, constant float* f, INDEX) {
    int local[4] = {1, 2, 3, 4};
    o[i] = a[0] << a[i];  // shift
    o[i] += 7 / (a[i] - 3);  // division
    o[i] += int(f[i]);  // conversion
    o[i] += local[a[i] & 7];  // index
}
kernel void wide_store(device uchar* o, INDEX) { *(device uchar4*)(o + i * 4) = uchar4(7); }
kernel void shape(device float* o, constant uint3& s) { o[0] = s.x; }
"""


@pytest.fixture(scope="module")
def checked() -> Library:
    return compile_shader(SOURCE, compilation=Compilation(checked=True))


def only(report: Report) -> Event:
    assert len(report.events) == 1, str(report)
    return report.events[0]


def line(event: Event) -> int:
    assert event.site is not None
    assert event.site.file == "program_source"
    return event.site.line


def marked(comment: str) -> int:
    """The line of SOURCE that ends in this comment."""
    return next(number for number, text in enumerate(SOURCE.split("\n"), 1) if f"// {comment}" in text)


A = torch.arange(64.0)


def out() -> torch.Tensor:
    return torch.zeros(64)


CLEAN: dict[str, Callable[[Library], Report]] = {
    "copy": lambda k: k.copy(out(), A),
    "copy into a view": lambda k: k.copy(torch.zeros(100)[7:71], A),
    "reverse": lambda k: k.reverse_ok(out(), A, threads=64, group_size=64),
    "within one simdgroup": lambda k: k.within_simdgroup(out(), A, threads=64, group_size=64),
    "atomic counter": lambda k: k.counters(torch.zeros(64, dtype=torch.int32), threads=64, group_size=64),
    "scatter": lambda k: k.scatter(torch.zeros(64, dtype=torch.int32), torch.randperm(64).int(), threads=64),
    "scatter with atomics": lambda k: k.scatter_add(
        torch.zeros(4, dtype=torch.int32), torch.arange(64).int() % 4, threads=64
    ),
    "some lanes only": lambda k: k.some_lanes(out(), threads=64, group_size=64),
    "list of tensors": lambda k: k.listed([A, out()], threads=64),
    "a structure with padding": lambda k: k.padded(torch.zeros(4 * 8), A, threads=4, group_size=4),
    "aligned store": lambda k: k.wide_store(torch.zeros(16, dtype=torch.uint8)[4:12], threads=2),
}


@pytest.mark.parametrize("name", CLEAN)
def test_correct_kernels_give_nothing_away(checked: Library, name: str) -> None:
    report = CLEAN[name](checked)
    assert not report.events, str(report)


def test_results_are_the_same_as_unchecked(checked: Library) -> None:
    plain = compile_shader(SOURCE)
    for name in ("copy", "reverse_ok", "within_simdgroup"):
        a, b = out(), out()
        getattr(checked, name)(a, A, threads=64, group_size=64)
        getattr(plain, name)(b, A, threads=64, group_size=64)
        assert torch.equal(a, b)


def test_accesses_past_the_ends(checked: Library) -> None:
    event = only(checked.read_past(out(), A))
    assert (event.note, line(event), event.count) == (Note.OUT_OF_BOUNDS, marked("read past"), 1)
    assert event.access is not None
    assert (event.access.arguments, event.access.offset, event.access.write) == ((1,), 256, False)
    o = out()
    event = only(checked.write_past(o, A))
    assert (event.note, line(event), event.count) == (Note.OUT_OF_BOUNDS, marked("write past"), 2)
    assert event.access is not None
    assert (event.access.arguments, event.access.offset, event.access.write) == ((0,), 256, True)
    assert torch.equal(o[2:], A[:62])  # the rest ran, and nothing outside was touched
    event = only(checked.read_before(out(), A))
    assert event.access is not None
    assert (event.note, event.access.offset) == (Note.OUT_OF_BOUNDS, -4)
    event = only(checked.sizes(out(), [1, 2, 3], 3, threads=1))
    assert event.access is not None
    assert (event.note, event.access.arguments, event.access.offset) == (Note.OUT_OF_BOUNDS, (1,), 24)
    event = only(checked.listed([A, torch.zeros(8)], threads=9))
    assert event.access is not None
    assert (event.note, event.access.arguments, event.access.offset) == (Note.OUT_OF_BOUNDS, (0,), 32)


def test_a_far_access_stops_the_kernel(checked: Library) -> None:
    with pytest.raises(KernelCrash, match=r"outside what is bound, read of 4 bytes at offset"):
        checked.far(out(), A)


@pytest.mark.parametrize("name", ["write_past", "far"])
def test_isolated_arguments_fault_without_instrumentation(name: str) -> None:
    library = compile_shader(SOURCE)
    with pytest.raises(KernelCrash, match=r"\d+ bytes into argument \d, in threadgroup \(0, 0, 0\) \(SIG"):
        getattr(library, name)(out(), A, launch=Launch(isolate=True))


def test_accesses_beside_the_view(checked: Library) -> None:
    strided = torch.zeros(64)
    event = only(checked.copy(strided[::2], A, threads=32))
    assert event.access is not None
    assert (event.note, event.access.write, event.access.offset, event.count) == (Note.OUTSIDE_VIEW, True, 4, 16)
    event = only(checked.copy(out(), torch.zeros(64)[10:20], threads=32))
    assert event.access is not None
    assert (event.note, event.access.write, event.access.offset, event.count) == (Note.OUTSIDE_VIEW, False, 40, 22)
    base = torch.zeros(64)
    assert not checked.copy(base[:32], base[32:], threads=32).events  # two views of one storage


def test_races_name_both_sides(checked: Library) -> None:
    report = checked.reverse_racy(out(), A, threads=64, group_size=64)
    races = [event for event in report.events if event.note is Note.THREADGROUP_RACE]
    write, read = marked("racy write"), marked("racy read")
    assert {(line(event), event.other_site and event.other_site.line) for event in races} == {
        (write, read),
        (read, write),
    }
    first = races[0]
    assert first.access is not None
    assert first.access.target == "threadgroup variable tile"
    assert (first.thread, first.other_thread, first.access.offset) == (32, 31, 128)
    assert report.has(Note.UNWRITTEN_READ)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@pytest.mark.parametrize("name", ["reverse_racy", "no_fence", "across_simdgroups"])
def test_races_are_found_in_every_order(checked: Library, name: str, order: str) -> None:
    launch = Launch(order=order)  # type: ignore[arg-type]
    assert getattr(checked, name)(out(), A, threads=64, group_size=64, launch=launch).has(Note.THREADGROUP_RACE)


def test_a_race_that_no_order_shows(checked: Library) -> None:
    """The second round overwrites what others may still have to read; run one after another, nobody notices."""
    o = out()
    report = checked.second_round(o, A, threads=64, group_size=64, launch=Launch(threadgroup_memory=(256,)))
    event = next(event for event in report.events if event.note is Note.THREADGROUP_RACE)
    assert (line(event), event.other_site and event.other_site.line) == (marked("round read"), marked("round write"))
    assert event.access is not None and event.access.target == "threadgroup variable [[threadgroup(0)]]"


def test_threadgroup_memory_that_was_not_written(checked: Library) -> None:
    event = only(checked.unwritten(out(), A, threads=64, group_size=64))
    assert (event.note, line(event), event.thread) == (Note.UNWRITTEN_READ, marked("unwritten read"), 63)
    assert event.access is not None
    assert (event.access.target, event.access.offset) == ("threadgroup variable tile", 0)
    report = checked.past_tile(out(), A, threads=64, group_size=64)
    lines = {marked("tile write"), marked("tile read")}
    assert {line(event) for event in report.events if event.note is Note.OUT_OF_BOUNDS} == lines
    assert {line(event) for event in report.events if event.note is Note.INDEX_OUT_OF_BOUNDS} == lines


def test_a_pointer_does_not_reach_the_next_variable(checked: Library) -> None:
    report = checked.past_pointer(out(), A, threads=17, group_size=17)
    event = next(event for event in report.events if event.note is Note.OUT_OF_BOUNDS)
    assert event.access is not None
    found = (line(event), event.thread, event.access.target, event.access.offset)
    assert found == (marked("past pointer"), 16, "threadgroup variable first", 64)


def test_races_in_device_memory(checked: Library) -> None:
    to = torch.arange(64).int() // 2
    event = only(checked.scatter(torch.zeros(32, dtype=torch.int32), to, threads=64))
    assert (event.note, line(event), event.count) == (Note.DEVICE_RACE, marked("scatter"), 32)
    assert (event.thread, event.other_thread) == (1, 0)
    event = only(checked.scatter(torch.zeros(32, dtype=torch.int32), to, threads=64, group_size=1))
    assert (event.threadgroup, event.other_threadgroup) == ((1, 0, 0), (0, 0, 0))
    assert only(checked.shift_in_place(torch.zeros(65), threads=64)).note is Note.DEVICE_RACE


@pytest.mark.parametrize("compile_checked", [False, True])
def test_divergence(compile_checked: bool) -> None:
    library = compile_shader(SOURCE, compilation=Compilation(checked=compile_checked))
    event = only(library.early_exit(out(), threads=64, group_size=64))
    assert (event.note, line(event), event.other_thread) == (Note.BARRIER_DIVERGENCE, marked("early barrier"), 20)
    event = only(library.two_barriers(out(), threads=64, group_size=64))
    assert event.note is Note.BARRIER_DIVERGENCE
    assert {line(event), event.other_site and event.other_site.line} == {
        marked("first barrier"),
        marked("second barrier"),
    }
    o = out()
    event = only(library.two_functions(o, threads=32, group_size=32))
    assert event.note is Note.SIMD_DIVERGENCE
    assert {line(event), event.other_site and event.other_site.line} == {
        marked("first function"),
        marked("second function"),
    }
    assert o[:32].tolist() == [5.0] * 5 + [2.0] * 27


def test_undefined_operations(checked: Library) -> None:
    a = torch.arange(64).int()
    f = torch.arange(64.0)
    f[3], f[4] = 1e20, float("nan")
    report = checked.undefined(torch.zeros(64, dtype=torch.int32), a, f)
    found = {(event.note, line(event)): event.count for event in report.events}
    assert found == {
        (Note.SHIFT_OUT_OF_RANGE, marked("shift")): 32,
        (Note.DIVISION_BY_ZERO, marked("division")): 1,
        (Note.CONVERSION_OVERFLOW, marked("conversion")): 2,
        (Note.INDEX_OUT_OF_BOUNDS, marked("index")): 32,
    }


def test_misaligned_vectors(checked: Library) -> None:
    """pytorch #183790: the hardware moves a four-byte store down to a multiple of four."""
    event = only(checked.wide_store(torch.zeros(16, dtype=torch.uint8)[3:11], threads=2))
    assert (event.note, event.count) == (Note.MISALIGNED, 2)


def test_arguments_shorter_than_the_kernel_takes(checked: Library) -> None:
    """pytorch #147325: a uint3 has 16 bytes."""
    event = only(checked.shape(out(), bytes(12), threads=1))
    assert event.note is Note.ARGUMENT_TOO_SMALL
    assert event.access is not None
    assert (event.access.offset, event.access.size) == (12, 4)
    assert not checked.shape(out(), bytes(16), threads=1).events


def test_a_stack_that_overflows_is_an_exception(checked: Library) -> None:
    library = compile_shader("""
        int deep(int n, device int* o) {
            volatile int x[1000];
            x[n % 1000] = n;
            o[0] += n;
            return n == 0 ? x[0] : deep(n - 1, o) + x[n % 1000];
        }
        kernel void k(device int* o) { o[1] = deep(100000, o); }
    """)
    with pytest.raises(KernelCrash, match="stack"):
        library.k(torch.zeros(2, dtype=torch.int32), threads=1)
    assert not checked.copy(out(), A).events
