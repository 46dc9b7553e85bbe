"""Component access of vectors (`v.xy`, `v.bgr = ...`), written out as C++ properties."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

COMPONENTS = "xyzw"
COLOURS = "rgba"


def swizzle_header(size: int) -> str:
    """Declarations for the body of `vec<T, size>`: every choice of two to four of its components, by both names.

    A choice that names a component twice can be read but not assigned to, as in MSL.
    """
    return "\n".join(_declarations(size)) + "\n"


def _declarations(size: int) -> Iterator[str]:
    for index in range(size):
        yield _single(COLOURS[index], COMPONENTS[index])
    for length in (2, 3, 4):
        for choice in product(range(size), repeat=length):
            members = [COMPONENTS[index] for index in choice]
            assignable = len(set(choice)) == length
            getter, setter = "get_" + "".join(members), "set_" + "".join(members)
            value = f"vec<T, {length}>"
            yield f"METAL_CPU_INLINE constexpr {value} {getter}() const {{ return {value}({', '.join(members)}); }}"
            if assignable:
                stores = " ".join(f"{member} = v.{COMPONENTS[k]};" for k, member in enumerate(members))
                yield f"METAL_CPU_INLINE constexpr void {setter}({value} v) {{ {stores} }}"
            access = f"get = {getter}, put = {setter}" if assignable else f"get = {getter}"
            for names in (COMPONENTS, COLOURS):
                name = "".join(names[index] for index in choice)
                yield f"__declspec(property({access})) {value} {name};"


def _single(colour: str, component: str) -> str:
    return (
        f"METAL_CPU_INLINE constexpr T get_{colour}() const {{ return {component}; }}\n"
        f"METAL_CPU_INLINE constexpr void set_{colour}(T v) {{ {component} = v; }}\n"
        f"__declspec(property(get = get_{colour}, put = set_{colour})) T {colour};"
    )
