"""The garbage collector comes back, whatever happened while it paused."""

from __future__ import annotations

import gc

import pytest

from pipeline.collector import collector_paused
from pipeline.errors import Refusal
from pipeline.native_functions import NativeFunctions


def test_pauses_may_nest() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_comes_back_after_a_refusal() -> None:
    with pytest.raises(Refusal):
        NativeFunctions("- dispatch: [")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
