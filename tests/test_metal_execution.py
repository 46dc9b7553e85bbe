"""Threads, threadgroups and simdgroups: positions, barriers, orders, exchange of values, limits."""

from __future__ import annotations

from typing import Literal

import pytest
import torch

from pipeline.metal import Compilation, Launch, Library, Note, compile_shader

Order = Literal["forward", "reverse", "shuffled"]
ORDERS: tuple[Order, ...] = ("forward", "reverse", "shuffled")
HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("grid", "group"),
    [((7,), (3,)), ((70,), (64,)), ((5, 4), (2, 3)), ((3, 5, 4), (2, 2, 3)), ((33, 3, 2), (11, 3, 2))],
)
def test_every_thread_knows_where_it_stands(grid: tuple[int, ...], group: tuple[int, ...], order: Order) -> None:
    library = compile_shader(f"""{HEADER}
        kernel void k(device uint* o,
            uint3 in_grid [[thread_position_in_grid]], uint3 in_group [[thread_position_in_threadgroup]],
            uint3 group [[threadgroup_position_in_grid]], ushort3 size [[threads_per_threadgroup]],
            uint3 whole [[dispatch_threads_per_threadgroup]], uint3 grid [[threads_per_grid]],
            uint3 groups [[threadgroups_per_grid]], uint index [[thread_index_in_threadgroup]],
            ushort lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
            uint simdgroups [[simdgroups_per_threadgroup]], uint width [[threads_per_simdgroup]]) {{
            device uint* mine = o + 32 * (in_grid.x + grid.x * (in_grid.y + grid.y * in_grid.z));
            const uint3 values[7] = {{in_grid, in_group, group, uint3(size), whole, grid, groups}};
            for (uint i = 0; i < 7; ++i) for (uint j = 0; j < 3; ++j) mine[3 * i + j] = values[i][j];
            mine[21] = index, mine[22] = lane, mine[23] = simdgroup, mine[24] = simdgroups, mine[25] = width;
        }}
    """)
    (gx, gy, gz), (tx, ty, tz) = (*grid, 1, 1)[:3], (*group, 1, 1)[:3]
    o = torch.zeros(gx * gy * gz, 32, dtype=torch.int32)
    library.k(o, threads=grid, group_size=group, launch=Launch(order=order))
    rows = iter(o.tolist())
    for z in range(gz):
        for y in range(gy):
            for x in range(gx):
                size = (min(tx, gx - x // tx * tx), min(ty, gy - y // ty * ty), min(tz, gz - z // tz * tz))
                index = x % tx + size[0] * (y % ty + size[1] * (z % tz))
                count = size[0] * size[1] * size[2]
                expected = [x, y, z, x % tx, y % ty, z % tz, x // tx, y // ty, z // tz, *size, tx, ty, tz, gx, gy, gz]
                expected += [-(-gx // tx), -(-gy // ty), -(-gz // tz)]
                expected += [index, index % 32, index // 32, -(-count // 32), 32]
                assert next(rows)[:26] == expected


REVERSE = f"""{HEADER}
    kernel void turn(device float* o, constant float* x, uint i [[thread_position_in_threadgroup]],
                     uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{
        threadgroup float a[1024], b[2][512];
        a[i] = x[g * n + i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        b[i / 512][i % 512] = a[n - 1 - i] * 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i % 2 == 0) return;
        o[g * n + i] = b[(i - 1) / 512][(i - 1) % 512];
    }}
    kernel void sum(device float* o, constant float* x, threadgroup float* partial [[threadgroup(0)]],
                    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
                    uint g [[threadgroup_position_in_grid]]) {{
        partial[i] = x[g * n + i];
        for (uint step = n / 2; step > 0; step /= 2) {{
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (i < step) partial[i] += partial[i + step];
        }}
        if (i == 0) o[g] = partial[0];
    }}
"""


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_barriers_and_threadgroup_memory(order: Order, checked: bool) -> None:
    library = compile_shader(REVERSE, compilation=Compilation(checked=checked))
    x = torch.randint(-100, 100, (3 * 1024,)).float()
    o = torch.zeros_like(x)
    report = library.turn(o, x, threads=3 * 1024, group_size=1024, launch=Launch(order=order))
    expected = torch.zeros(3, 1024)
    expected[:, 1::2] = x.view(3, 1024).flip(1)[:, ::2] * 2
    assert torch.equal(o, expected.flatten())
    assert report.threadgroup_memory == 8192
    assert not report.events
    total = torch.zeros(3)
    report = library.sum(
        total, x, threads=3 * 1024, group_size=1024, launch=Launch(order=order, threadgroup_memory=(4096,))
    )
    torch.testing.assert_close(total, x.view(3, 1024).sum(1))
    assert not report.events


def test_a_missing_barrier_shows_in_some_order() -> None:
    library = compile_shader(REVERSE.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", "", 1))
    x = torch.randn(1024)
    right = torch.zeros(1024)
    compile_shader(REVERSE).turn(right, x, group_size=1024)
    wrong = []
    for order in ORDERS:
        o = torch.zeros_like(x)
        library.turn(o, x, group_size=1024, launch=Launch(order=order))
        wrong.append(not torch.equal(o, right))
    assert any(wrong)


def test_a_seed_chooses_the_order() -> None:
    library = compile_shader(f"""{HEADER}
        kernel void k(device atomic_uint* next, device uint* o, uint i [[thread_position_in_grid]]) {{
            o[atomic_fetch_add_explicit(next, 1u, memory_order_relaxed)] = i;
        }}
    """)

    def run(launch: Launch) -> list[int]:
        o = torch.zeros(100, dtype=torch.int32)
        library.k(torch.zeros(1, dtype=torch.int32), o, threads=100, group_size=10, launch=launch)
        return o.tolist()

    assert run(Launch()) == list(range(100))
    assert run(Launch(order="reverse")) == list(range(99, -1, -1))
    first, again, other = (run(Launch(order="shuffled", seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other) == list(range(100))


@pytest.fixture(scope="module")
def lanes() -> Library:
    operations = {
        "sum": "simd_sum(v)", "product": "simd_product(1 + v % 3)", "max": "simd_max(v)", "min": "simd_min(v)",
        "and_": "simd_and(v)", "or_": "simd_or(v)", "xor_": "simd_xor(v)", "scan_in": "simd_prefix_inclusive_sum(v)",
        "scan_ex": "simd_prefix_exclusive_sum(v)", "broadcast": "simd_broadcast(v, 5)",
        "first": "simd_broadcast_first(v)", "shuffle": "simd_shuffle(v, (lane * 7) % 32)",
        "swap": "simd_shuffle_xor(v, 1)", "down": "simd_shuffle_down(v, 3)", "up": "simd_shuffle_up(v, 3)",
        "rotate_down": "simd_shuffle_rotate_down(v, 3)", "rotate_up": "simd_shuffle_rotate_up(v, 3)",
        "fill_down": "simd_shuffle_and_fill_down(v, -v, 3)", "fill_up": "simd_shuffle_and_fill_up(v, -v, 3)",
        "any": "int(simd_any(v > 1000))", "all": "int(simd_all(v >= 0))", "is_first": "int(simd_is_first())",
        "ballot": "int(ulong(simd_ballot(lane % 3 == 0)))", "mask": "int(ulong(simd_active_threads_mask()))",
        "quad_sum": "quad_sum(v)", "quad_broadcast": "quad_broadcast(v, 2)", "quad_swap": "quad_shuffle_xor(v, 2)",
        "quad_down": "quad_shuffle_down(v, 1)", "pair": "simd_shuffle_xor(int2(v, 1), 4).x",
        "odd_sum": "(lane % 2 ? simd_sum(v) : 0)",
    }  # fmt: skip
    kernels = "\n".join(
        f"kernel void lane_{name}(device int* o, constant int* x, uint i [[thread_position_in_grid]], "
        f"uint lane [[thread_index_in_simdgroup]]) {{ const int v = x[i]; o[i] = {expression}; }}"
        for name, expression in operations.items()
    )
    return compile_shader(HEADER + kernels)


def test_simdgroup_and_quad_functions(lanes: Library) -> None:
    x = torch.arange(64, dtype=torch.int32) * 3 % 50
    rows = x.view(2, 32)
    lane = torch.arange(32)
    down, up = (lane + 3), (lane - 3)
    quads = x.view(16, 4)
    expected = {
        "sum": rows.sum(1, keepdim=True).expand(2, 32),
        "product": (1 + rows % 3).prod(1, keepdim=True).int().expand(2, 32),
        "max": rows.amax(1, keepdim=True).expand(2, 32),
        "min": rows.amin(1, keepdim=True).expand(2, 32),
        "scan_in": rows.cumsum(1),
        "scan_ex": rows.cumsum(1) - rows,
        "broadcast": rows[:, 5:6].expand(2, 32),
        "first": rows[:, :1].expand(2, 32),
        "shuffle": rows[:, lane * 7 % 32],
        "swap": rows[:, lane ^ 1],
        "down": torch.where(down < 32, rows[:, down % 32], rows),
        "up": torch.where(up >= 0, rows[:, up], rows),
        "rotate_down": rows[:, down % 32],
        "rotate_up": rows[:, up],
        "fill_down": torch.where(down < 32, rows[:, down % 32], -rows),
        "fill_up": torch.where(up >= 0, rows[:, up], -rows),
        "any": torch.zeros(2, 32),
        "all": torch.ones(2, 32),
        "is_first": (lane == 0).expand(2, 32),
        "ballot": torch.full((2, 32), sum(1 << i for i in range(0, 31, 3))),
        "mask": torch.full((2, 32), -1),
        "quad_sum": quads.sum(1, keepdim=True).expand(16, 4),
        "quad_broadcast": quads[:, 2:3].expand(16, 4),
        "quad_swap": quads[:, [2, 3, 0, 1]],
        "quad_down": quads[:, [1, 2, 3, 3]],
        "pair": rows[:, lane ^ 4],
        "odd_sum": torch.where(lane % 2 == 1, rows[:, 1::2].sum(1, keepdim=True), 0),
    }
    for name, right in expected.items():
        for order in ORDERS:
            o = torch.zeros_like(x)
            getattr(lanes, f"lane_{name}")(o, x, launch=Launch(order=order))
            assert o.tolist() == right.flatten().int().tolist(), name


def test_reading_a_lane_that_is_not_there_is_noticed(lanes: Library) -> None:
    x = torch.arange(40, dtype=torch.int32)
    report = lanes.lane_down(torch.zeros_like(x), x)
    assert [event.note for event in report.events] == [Note.INACTIVE_LANE_READ]
    assert not lanes.lane_sum(torch.zeros_like(x), x).events


def test_simdgroup_matrices_multiply() -> None:
    library = compile_shader(f"""{HEADER}
        #include <metal_simdgroup_matrix>
        template <typename T> kernel void multiply(device float* o, constant T* a, constant T* b) {{
            simdgroup_matrix<T, 8, 8> x, y;
            simdgroup_matrix<float, 8, 8> c(0), d = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
            simdgroup_load(x, a);
            simdgroup_load(y, b, 8, ulong2(0, 0), true);
            simdgroup_multiply_accumulate(c, x, y, d);
            simdgroup_store(c, o);
        }}
        template [[host_name("multiply_float")]] kernel decltype(multiply<float>) multiply<float>;
        template [[host_name("multiply_half")]] kernel decltype(multiply<half>) multiply<half>;
        template [[host_name("multiply_bfloat")]] kernel decltype(multiply<bfloat>) multiply<bfloat>;
    """)
    for name, dtype in (("float", torch.float32), ("half", torch.float16), ("bfloat", torch.bfloat16)):
        a, b = (torch.randn(8, 8).to(dtype) for _ in range(2))
        o = torch.zeros(8, 8)
        getattr(library, f"multiply_{name}")(o, a, b, threads=32)
        torch.testing.assert_close(o, a.float() @ b.float().T + 1)


def test_atomics() -> None:
    library = compile_shader(f"""{HEADER}
        kernel void k(device atomic_int* n, device atomic_float* f, device atomic<uint>* u,
                      uint i [[thread_position_in_grid]]) {{
            atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
            atomic_fetch_max_explicit(n + 1, int(i), memory_order_relaxed);
            atomic_fetch_add_explicit(f, 0.5, memory_order_relaxed);
            atomic_fetch_xor_explicit(u, i, memory_order_relaxed);
            uint old = atomic_load_explicit(u + 1, memory_order_relaxed);
            while (!atomic_compare_exchange_weak_explicit(u + 1, &old, old * 3 + 1, memory_order_relaxed,
                                                          memory_order_relaxed)) {{}}
        }}
    """)
    n, f, u = torch.zeros(2, dtype=torch.int32), torch.zeros(1), torch.zeros(2, dtype=torch.uint32)
    library.k(n, f, u, threads=100)
    expected = 0
    for _ in range(100):
        expected = (expected * 3 + 1) % 2**32
    assert (n.tolist(), f.item(), u.tolist()) == ([100, 99], 50.0, [0, expected])


def test_limits() -> None:
    library = compile_shader(f"""{HEADER}
        kernel void fits(device float* o) {{ threadgroup float x[8192]; x[0] = 1; o[0] = x[0]; }}
        kernel void too_much(device float* o) {{ threadgroup float x[8192], y; x[0] = y = 1; o[0] = x[0] + y; }}
        kernel void dynamic(device float* o, threadgroup float* x [[threadgroup(0)]]) {{ x[0] = 1; o[0] = x[0]; }}
        [[max_total_threads_per_threadgroup(64)]] kernel void small(device float* o) {{ o[0] = 1; }}
    """)
    o = torch.zeros(1)
    assert library.fits(o).threadgroup_memory == 32768
    with pytest.raises(RuntimeError, match=r"threadgroup memory size \(327..\) exceeds .* \(32768\)"):
        library.too_much(o)
    with pytest.raises(RuntimeError, match=r"\(40000\) exceeds"):
        library.dynamic(o, launch=Launch(threadgroup_memory=(40000,)))
    assert (library.small.max_threads_per_threadgroup, library.fits.max_threads_per_threadgroup) == (64, 1024)
    assert library.small.thread_execution_width == 32
    with pytest.raises(ValueError, match="Threadgroup size exceeds 64 limit"):
        library.small(o, threads=128, group_size=128)


def test_offsets_of_scalars_are_rounded_down_as_on_metal() -> None:
    """pytorch #182839: `constant T&` bound at byte 1 reads byte 0; a pointer does not."""
    library = compile_shader(f"""{HEADER}
        kernel void k(device uchar* o, constant uchar& by_reference, constant uchar* by_pointer) {{
            o[0] = by_reference, o[1] = by_pointer[0];
        }}
    """)
    base = torch.tensor([5, 6, 7, 8, 9, 10], dtype=torch.uint8)
    o = torch.zeros(2, dtype=torch.uint8)
    library.k(o, base[1], base[1], threads=1)
    assert o.tolist() == [5, 6]
    library.k(o, base[5], base[5], threads=1)
    assert o.tolist() == [9, 10]
    library.k(o, base[1], base[1], threads=1, launch=Launch(align_arguments=False))
    assert o.tolist() == [6, 6]


def test_atomics_on_narrow_elements_hit_the_word_below() -> None:
    """pytorch #195074: the hardware rounds the address of an atomic down to a multiple of four."""
    library = compile_shader(f"""{HEADER}
        kernel void k(device atomic_uint* o) {{ atomic_fetch_or_explicit(o, 1u, memory_order_relaxed); }}
    """)
    o = torch.zeros(8, dtype=torch.uint8)
    library.k(o[3:], threads=1)
    assert o.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
