"""The checker of certificates: what follows is shown, and nothing that is false, ever."""

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from proofs.service.proof_examples import CERTIFICATE
from proofs.worker import certificate_checker
from proofs.worker.certificate_checker import InvalidCertificate, check

X, Y, Z = range(3)
X_IS_1_OR_MORE = [">=", [[1, X], [-1]]]
Z_IS_X = ["and", [[">=", [[1, Z], [-1, X]]], [">=", [[1, X], [-1, Z]]]]]
Z_IS_Y = ["and", [[">=", [[1, Z], [-1, Y]]], [">=", [[1, Y], [-1, Z]]]]]
Z_IS_1_OR_MORE = [
    [["entry", 0], ["entry", 1], ["entry", 2]],
    ["cases", 3, [[[], ["sum", [[1, 0], [1, of], [1, 4]]]] for of in (1, 2)]],
]
SQUARE = [
    [["entry", 2]],
    [
        "cases", 1,
        [
            [
                [["entry", of], ["replace", 0, 2, 3, Z], ["product", 4, 4]],
                ["sum", [[1, 6], [2, 4], [1, 5]]],
            ]
            for of in (0, 1)
        ],
    ],
]  # fmt: skip
WITH_LEMMA = [
    [["lemma", [">=", [[1, Z], [-1]]], [[["entry", 3]], ["sum", [[1, 1], [1, 2]]]]]],
    ["sum", [[1, 0], [1, 1]]],
]


def certificate() -> dict[str, Any]:
    """Return that z, which is x or y, is at least 1; so is its square, and twice it at least 2."""
    entries: list[dict[str, Any]] = [
        {"statement": X_IS_1_OR_MORE, "why": "x", "needs": []},
        {"statement": [">=", [[1, Y], [-1]]], "why": "y", "needs": []},
        {"statement": ["or", [Z_IS_X, Z_IS_Y]], "why": "z", "needs": []},
        {"claim": [">=", [[1, Z], [-1]]], "proof": Z_IS_1_OR_MORE},
        {"claim": [">=", [[1, Z, Z], [-1]]], "proof": SQUARE},
        {"claim": [">=", [[3, Z], [-3]]], "proof": WITH_LEMMA},
        {
            "claim": ["or", [["is", 3], [">=", [[1, X]]]]],
            "proof": [[["entry", 0]], ["sum", [[1, 1], [1, 2]]]],
        },
        {"claim": ["or", [["is", 3], ["not", 3]]], "proof": [[], ["clash", 0, 1]]},
    ]
    return copy.deepcopy(
        {"names": ["x", "y", "z", "b"], "entries": {str(n): one for n, one in enumerate(entries)}}
    )


def checked(made: Any) -> dict[int, bool]:
    return check(json.dumps(made))


def test_claims_that_follow_are_shown() -> None:
    assert checked(certificate()) == dict.fromkeys(range(3, 8), True)


def test_the_certificate_of_the_documentation_checks() -> None:
    assert checked(CERTIFICATE) == {2: True}


def test_a_claim_without_steps_is_unexplained_and_so_is_what_relies_on_it() -> None:
    made = certificate()
    made["entries"]["3"]["proof"] = None
    assert checked(made) == {3: False, 4: True, 5: False, 6: True, 7: True}


def test_a_statement_that_needs_an_unexplained_claim_explains_nothing() -> None:
    made = certificate()
    made["entries"] = {str(int(n) + 1): one for n, one in made["entries"].items()}
    made["entries"] = {"0": {"claim": X_IS_1_OR_MORE, "proof": None}, "1": made["entries"]["1"]}
    made["entries"]["1"]["needs"] = [0]
    made["entries"]["2"] = {
        "claim": [">=", [[1, X]]], "proof": [[["entry", 1]], ["sum", [[1, 0], [1, 1]]]]
    }  # fmt: skip
    assert checked(made) == {0: False, 2: False}


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each part of a certificate."""
    yield path
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, part in inner:
        yield from places(part, (*path, key))


def tampered() -> Iterator[Any]:
    """Yield certificates that differ in one place: a number, a word, or a part left out."""
    whole = certificate()
    for path in places(whole):
        if not path:
            continue
        for change in (-2, -1, 1, 2, "word", "drop", "twice", None):
            made = certificate()
            node = made
            for key in path[:-1]:
                node = node[key]
            key, old = path[-1], node[path[-1]]
            match change:
                case int() if type(old) is int:
                    node[key] = old + change
                case "word" if isinstance(old, str):
                    node[key] = (
                        "and"
                        if old == "or"
                        else "or"
                        if old == "and"
                        else "not"
                        if old == "is"
                        else "?"
                    )
                case "drop" if isinstance(node, list | dict):
                    del node[key]
                case "twice" if isinstance(node, list):
                    node.insert(key, old)
                case None if not isinstance(old, int):
                    node[key] = None
                case _:
                    continue
            yield made


def holds(formula: Any, values: tuple[int, ...]) -> bool:
    match formula:
        case [">=", terms]:
            return sum(f * _product(values[n] for n in names) for f, *names in terms) >= 0
        case ["is", name]:
            return values[name] > 0
        case ["not", name]:
            return values[name] <= 0
        case ["and", parts]:
            return all(holds(part, values) for part in parts)
        case ["or", parts]:
            return any(holds(part, values) for part in parts)
    raise AssertionError(formula)


def _product(factors: Iterator[int]) -> int:
    made = 1
    for factor in factors:
        made *= factor
    return made


def test_no_certificate_that_was_tampered_with_shows_what_is_false() -> None:
    points = list(itertools.product(range(-1, 3), range(-1, 3), range(-1, 3), range(2)))
    refused = 0
    for made in tampered():
        try:
            claims = checked(made)
        except InvalidCertificate:
            refused += 1
            continue
        entries = made["entries"]
        said = [one["statement"] for one in entries.values() if "statement" in one]
        shown = [entries[str(number)]["claim"] for number, is_shown in claims.items() if is_shown]
        for values in points:
            if all(holds(one, values) for one in said):
                assert all(holds(one, values) for one in shown), made
    assert refused > 500


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("3", "proof", 1, 2, 0, 1, 1, 0, 0), 2, "the sum is no negative number"),
        (("3", "proof", 1, 2, 0, 1, 1, 0, 0), -1, "counts 0 times or more"),
        (("3", "proof", 1, 2, 0, 1, 1, 0, 1), 2, "the sum is no negative number"),
        (("3", "proof", 1, 2, 0, 1, 1, 0, 1), 99, "not known"),
        (("3", "proof", 1, 2), [], "one node for each case"),
        (("3", "proof", 1, 1), 1, "cases are those of an or"),
        (("3", "proof", 0, 0, 1), 3, "no earlier entry"),
        (("3", "claim", 1, 1, 0), -2, "the sum is no negative number"),
        (("0", "statement", 1, 1, 0), 0, "the sum is no negative number"),
        (("1", "needs"), [4], "no earlier entry"),
        (("4", "proof", 1, 2, 0, 0, 1, 2), 4, "does not say what it equals"),
        (("4", "proof", 1, 2, 0, 0, 1, 4), X, "does not say what the name equals"),
        (("4", "proof", 1, 2, 0, 0, 2, 1), 3, "the sum is no negative number"),
        (("5", "proof", 0, 0, 2, 1, 0), "clash", "an end has another form"),
        (("5", "proof", 0, 0, 1, 1, 0, 1), 4, "there is no such name"),
        (("7", "proof", 1, 2), 0, "do not clash"),
    ],
)
def test_a_changed_step_is_refused(path: tuple[Any, ...], value: Any, words: str) -> None:
    made = certificate()
    node = made["entries"]
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with pytest.raises(InvalidCertificate, match=words):
        checked(made)


NESTED: Any = [">=", [[1]]]
for _ in range(certificate_checker.DEEPEST + 1):
    NESTED = ["and", [NESTED]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"names": [], "entries": {}, "more": 1}', "names and entries"),
        ('{"names": [1], "entries": {}}', "texts"),
        ('{"names": [], "entries": {"-1": {}}}', "numbered upwards"),
        ('{"names": [], "entries": {"1": {}, "0": {}}}', "other members|numbered upwards"),
        (" " * (certificate_checker.MOST_CHARS + 1), "characters"),
        ('{"names": [], "entries": {"0": {"claim": [">=", [[' + "9" * 5000 + "]]]}}}", "no JSON"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidCertificate, match=words):
        check(text)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (NESTED, "a formula is"),
        ([">=", [[1 << 1025]]], "too large"),
        ([">=", [[1, *[0] * 17]]], "a factor and names"),
        ([">=", [[1, *[0] * n] for n in range(201)]], "too many terms"),
        ([">=", [[1.5, 0]]], "an integer"),
        ([">=", [[True, 0]]], "an integer"),
    ],
    ids=["depth", "bits", "factors", "terms", "a fraction", "a truth value"],
)
def test_a_formula_beyond_the_bounds_is_refused(formula: Any, words: str) -> None:
    entry = {"statement": formula, "why": "", "needs": []}
    with pytest.raises(InvalidCertificate, match=words):
        checked({"names": ["x"], "entries": {"0": entry}})


def test_work_is_bounded() -> None:
    wide = [">=", [[1, *[0] * n] for n in range(1, 8)] + [[1, *[1] * n] for n in range(1, 8)]]
    steps = [["entry", 0], *[["product", 0, 0]] * 1_000]
    claim = {"claim": [">=", [[-1]]], "proof": [steps, ["cases", 0, []]]}
    entries = {"0": {"statement": wide, "why": "", "needs": []}, "1": claim}
    with pytest.raises(InvalidCertificate, match="more work"):
        checked({"names": ["x", "y"], "entries": entries})


def test_a_replacement_in_many_formulas_is_work() -> None:
    names = [f"n{number}" for number in range(3_000)]
    entries = {
        "0": {"statement": ["or", [["is", name] for name in range(1, 2_999)]]},
        "1": {"statement": [">=", [[1, 0]]]},
        "2": {"statement": [">=", [[-1, 0]]]},
    }
    stated = {number: entry | {"why": "", "needs": []} for number, entry in entries.items()}
    known = [["entry", 0], ["entry", 1], ["entry", 2]]
    replaced = [["replace", 1, 2, 3, 0]] * 900
    claim = {"claim": [">=", [[1, 5]]], "proof": [known + replaced, ["sum", [[0, 2]]]]}
    text = json.dumps({"names": names, "entries": stated | {"3": claim}})

    with pytest.raises(InvalidCertificate, match="more work than a check may"):
        check(text)
