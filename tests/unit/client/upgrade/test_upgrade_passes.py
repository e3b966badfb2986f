"""The first pass after which two Tritons differ."""

from typing import Any

from tritonc.upgrade.upgrade_run import responsible_pass

TTIR = "module {\n  %0 = tt.load %x : tensor<64xf32>\n}"
LAID_OUT = "#blocked = #ttg.blocked<{order = [0]}>\nmodule {\n  %0 = tt.load %x\n}"
CONVERTED = f"{LAID_OUT[:-2]}\n  %1 = ttg.convert_layout %0\n}}"


def answer(*passes: tuple[str, str | None]) -> dict[str, Any]:
    return {"passes": [{"stage": "ttgir", "name": n, "after": after} for n, after in passes]}


def test_it_is_the_first_pass_with_other_operations():
    old = answer(("canonicalize", TTIR), ("coalesce", LAID_OUT), ("cse", None))
    new = answer(("canonicalize", TTIR), ("coalesce", CONVERTED), ("cse", None))

    found = responsible_pass(old, new)

    assert str(found) == "pass coalesce (ttgir): ttg.convert_layout 0 -> 1"


def test_other_layouts_are_a_difference():
    other = LAID_OUT.replace("order = [0]", "order = [1]")

    found = responsible_pass(answer(("coalesce", LAID_OUT)), answer(("coalesce", other)))

    assert found is not None
    assert found.name == "coalesce"


def test_no_pass_is_named_where_all_agree():
    same = answer(("canonicalize", TTIR), ("coalesce", LAID_OUT))

    assert responsible_pass(same, same) is None
    assert responsible_pass({"passes": None}, {}) is None


def test_a_pass_that_only_one_triton_has_is_not_to_blame():
    old = answer(("coalesce", LAID_OUT), ("cse", LAID_OUT))
    new = answer(("coalesce", LAID_OUT), ("fresh", CONVERTED), ("cse", LAID_OUT))

    assert responsible_pass(old, new) is None
