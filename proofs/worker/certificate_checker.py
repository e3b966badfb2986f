"""Checks that each claim of a certificate follows from the statements that it begins with.

It shares no code with what proves: it imports nothing of tritond, and computes with integers alone.
The maker of a certificate is not trusted: its size and the effort of a check are bounded.

A certificate is JSON: `names`, of integers and truth values, and `entries` by number.

    {"statement": F, "why": text, "needs": [earlier claims, without which it is not said]}
    {"claim": F, "proof": N}                        null where only the solver knows one
    F  [">=", P] (P is at least 0), ["is", name], ["not", name], ["and", [F, ...]], ["or", [F, ...]]
    P  [[factor, name, ...], ...]                                  a sum of products
    N  [[step, ...], end]                           contradicts what is assumed: a claim's opposite

A step adds formulas to what is known, numbered from 0 on; those of an "and" count apart.

    ["entry", number]                               an earlier entry
    ["product", a, b]                               two inequalities, multiplied
    ["replace", a, low, high, name]                 low and high say that the name equals something
    ["lemma", F, N]                                 holds, since N contradicts its opposite
    ends: ["sum", [[times, a], ...]]                inequalities whose sum is a negative number
          ["clash", a, b]                           a truth value and its opposite
          ["cases", a, [N, ...]]                    one for each part of an "or"

Of two kernels that store the same: `kernels`, with a certificate of each, its `claims`, and the
`tree` of what it stores.

    T  ["argument", name, type], ["constant", type, text], ["load", buffer, P, type] (P elements
       behind the stored one), ["operation", name, type, [[attribute, text], ...], [T, ...]]

An inequality between integers may be divided by what its factors share; its constant is rounded
down.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Final

MOST_CHARS: Final = 1 << 20
MOST_ENTRIES: Final = 20_000
MOST_KNOWN: Final = 5_000
"""Formulas that are known at once."""
MOST_TERMS: Final = 200
MOST_FACTORS: Final = 16
MOST_BITS: Final = 1_024
"""Of one factor."""
DEEPEST: Final = 24
MOST_WORK: Final = 200_000
"""Terms that are read or computed."""
DEEPEST_TREE: Final = 200
"""Operations inside of each other, of a stored value."""
_COMMUTING: Final = frozenset(
    {"arith.addf", "arith.addi", "arith.maxnumf", "arith.minnumf", "arith.mulf", "arith.muli"}
)

_Line = dict[tuple[int, ...], int]
_Formula = tuple[Any, ...]
_TRUE: _Formula = ("and", ())
_FALSE: _Formula = ("or", ())


class InvalidCertificate(Exception):
    """A step that does not follow, or a certificate that is not read; the message says why."""


def check(text: str) -> dict[int, bool]:
    """Return whether steps show each claim, by number; False where only the solver says so.

    Raises InvalidCertificate where one step does not follow, or the text is no certificate.
    """
    _require(len(text) <= MOST_CHARS, f"has more than {MOST_CHARS:,} characters")
    try:
        certificate = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate("is no JSON, or a number in it is too large") from error
    return _Checker(certificate).claims()


def check_pair(text: str) -> bool:
    """Return whether steps show that two kernels store the same; False if only the solver says so.

    Raises InvalidCertificate as `check` does, and where the trees of their values differ.
    """
    _require(len(text) <= MOST_CHARS, f"has more than {MOST_CHARS:,} characters")
    try:
        pair = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCertificate("is no JSON, or a number in it is too large") from error
    is_pair = isinstance(pair, dict) and pair.keys() == {"kernels"}
    _require(is_pair and _is_list(pair["kernels"], 2, 2), "is no object of two kernels")
    (is_shown, tree), (is_other_shown, other) = map(_kernel, pair["kernels"])
    _require(tree == other, "the kernels store other trees of operations")
    return is_shown and is_other_shown


def _kernel(kernel: Any) -> tuple[bool, str]:
    """Return whether steps show a kernel's claims, and the tree of what it stores, in one form."""
    members = {"names", "entries", "claims", "tree"}
    _require(isinstance(kernel, dict) and kernel.keys() == members, "a kernel has other members")
    checker = _Checker({"names": kernel["names"], "entries": kernel["entries"]})
    shown = checker.claims()
    _require(_is_list(kernel["claims"], MOST_ENTRIES, 1), "a kernel has claims")
    _require(
        all(type(one) is int and one in shown for one in kernel["claims"]), "has no such claim"
    )
    tree = _tree(kernel["tree"], kernel["names"], 0)
    return all(shown[one] for one in kernel["claims"]), tree


def _tree(said: Any, names: list[str], depth: int) -> str:
    """Return a digest of a tree; names stand for numbers in it, and what commutes is in order."""
    _require(depth <= DEEPEST_TREE, "a tree is nested too deeply")
    match said:
        case ["argument", str(), str()] | ["constant", str(), str()]:
            made = list(said)
        case ["load", str(buffer), list(terms), str(element)]:
            made = ["load", buffer, sorted(_distance(term, names) for term in terms), element]
        case ["operation", str(name), str(element), list(attributes), list(operands)]:
            _require(all(map(_is_attribute, attributes)), "attributes are pairs of texts")
            parts = [_tree(one, names, depth + 1) for one in operands]
            parts = sorted(parts) if name in _COMMUTING else parts
            made = ["operation", name, element, sorted(attributes), parts]
        case _:
            raise InvalidCertificate("a tree has another form")
    return hashlib.sha256(json.dumps(made).encode()).hexdigest()


def _is_attribute(said: Any) -> bool:
    return _is_list(said, 2, 2) and all(isinstance(one, str) for one in said)


def _distance(term: Any, names: list[str]) -> tuple[list[str], int]:
    """Return a term of a distance: names that both kernels have, and their factor."""
    is_term = _is_list(term, 1 + MOST_FACTORS, 1) and all(type(one) is int for one in term)
    _require(is_term, "a term is a factor and names")
    _require(all(0 <= one < len(names) for one in term[1:]), "there is no such name")
    found = sorted(names[one] for one in term[1:])
    _require(not any("#" in one for one in found), "a distance has a name of one kernel")
    return found, term[0]


def _require(condition: bool, said: str) -> None:
    if not condition:
        raise InvalidCertificate(said)


def _is_list(value: Any, most: int, least: int = 0) -> bool:
    return isinstance(value, list) and least <= len(value) <= most


class _Checker:
    def __init__(self, certificate: Any) -> None:
        is_object = isinstance(certificate, dict) and certificate.keys() == {"names", "entries"}
        _require(is_object, "is no object of names and entries")
        names, entries = certificate["names"], certificate["entries"]
        _require(_is_list(names, MOST_ENTRIES), "names are a list")
        _require(all(isinstance(name, str) for name in names), "names are texts")
        _require(isinstance(entries, dict), "entries are an object")
        self._names = len(names)
        self._entries: Mapping[str, Any] = entries
        self._formulas: dict[int, _Formula] = {}
        self._unexplained: set[int] = set()
        self._relied: set[int] = set()
        self._work = 0

    def claims(self) -> dict[int, bool]:
        found: dict[int, bool] = {}
        last = -1
        for text, entry in self._entries.items():
            number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
            _require(number > last, "entries are numbered upwards")
            _require(isinstance(entry, dict), "an entry is an object")
            last = number
            try:
                is_explained = self._entry(number, entry)
            except InvalidCertificate as fault:
                raise InvalidCertificate(f"entry {number}: {fault}") from None
            if "claim" in entry:
                found[number] = is_explained
        return found

    def _entry(self, number: int, entry: dict[str, Any]) -> bool:
        """Check an entry. Return whether steps show all that it relies on."""
        self._relied = set()
        if entry.keys() == {"claim", "proof"}:
            formula, proof = self._formula(entry["claim"], 0), entry["proof"]
            if proof is not None:
                self._node(proof, _opposite(formula), [], 0)
            is_explained = proof is not None
        else:
            _require(entry.keys() == {"statement", "why", "needs"}, "has other members")
            _require(isinstance(entry["why"], str), "why is a text")
            formula, needs = self._formula(entry["statement"], 0), entry["needs"]
            _require(_is_list(needs, MOST_ENTRIES), "needs are a list")
            for one in needs:
                self._earlier(one)
            is_explained = True
        self._formulas[number] = formula
        if not is_explained or self._relied & self._unexplained:
            self._unexplained.add(number)
        return number not in self._unexplained

    def _earlier(self, number: Any) -> _Formula:
        """Return an earlier entry's formula."""
        is_known = type(number) is int and number in self._formulas
        _require(is_known, "relies on no earlier entry")
        self._relied.add(number)
        return self._formulas[number]

    # steps

    def _node(self, node: Any, assumed: _Formula, known: list[_Formula], depth: int) -> None:
        """Check that a node contradicts what is known with what is assumed."""
        _require(depth <= DEEPEST, "is nested too deeply")
        _require(_is_list(node, 2, 2), "a node is steps and an end")
        _require(_is_list(node[0], MOST_KNOWN), "steps are a list")
        known = [*known, *_parts(assumed)]
        self._spend(len(known))
        for step in node[0]:
            _require(_is_list(step, 5, 2), "a step is a list")
            known += _parts(self._step(step, known, depth))
            _require(len(known) <= MOST_KNOWN, "knows too many formulas at once")
        end = node[1]
        _require(_is_list(end, 3, 2), "an end is a list")
        match end:
            case ["sum", terms]:
                self._contradicts(terms, known)
            case ["clash", one, other]:
                a, b = self._known(one, known), self._known(other, known)
                _require(a[0] in ("is", "not") and b == _opposite(a), "these do not clash")
            case ["cases", of, ways]:
                word, *inner = self._known(of, known)
                _require(word == "or", "cases are those of an or")
                _require(_is_list(ways, len(inner[0]), len(inner[0])), "has one node for each case")
                for way, case in zip(ways, inner[0], strict=True):
                    self._node(way, case, known, depth + 1)
            case _:
                raise InvalidCertificate("an end has another form")

    def _step(self, step: list[Any], known: list[_Formula], depth: int) -> _Formula:
        """Return what a step shows."""
        match step:
            case ["entry", number]:
                return self._earlier(number)
            case ["product", one, other]:
                return self._line(self._times(self._least(one, known), self._least(other, known)))
            case ["replace", of, low, high, name]:
                above, below = self._least(low, known), self._least(high, known)
                _require(below == {m: -c for m, c in above.items()}, "does not say what it equals")
                alone = above.get((name,)) == 1 and sum(name in m for m in above) == 1
                _require(type(name) is int and alone, "does not say what the name equals")
                by = {m: -c for m, c in above.items() if m != (name,)}
                return self._replaced(self._known(of, known), name, by)
            case ["lemma", formula, node]:
                shown = self._formula(formula, 0)
                self._node(node, _opposite(shown), known, depth + 1)
                return shown
        raise InvalidCertificate("a step has another form")

    def _contradicts(self, terms: Any, known: list[_Formula]) -> None:
        _require(_is_list(terms, MOST_KNOWN, 1), "a sum is a list")
        total: _Line = {}
        for term in terms:
            _require(_is_list(term, 2, 2), "a part of a sum is a factor and a number")
            times, of = term
            _require(type(times) is int and times >= 0, "an inequality counts 0 times or more")
            _require(times.bit_length() <= MOST_BITS, "a factor is too large")
            for monomial, factor in self._least(of, known).items():
                total[monomial] = total.get(monomial, 0) + times * factor
                self._spend(1)
        left = {m: c for m, c in total.items() if c}
        _require(left.keys() == {()} and left[()] < 0, "the sum is no negative number")

    def _known(self, number: Any, known: list[_Formula]) -> _Formula:
        is_known = type(number) is int and 0 <= number < len(known)
        _require(is_known, "names a formula that is not known")
        found: _Formula = known[number]
        return found

    def _least(self, number: Any, known: list[_Formula]) -> _Line:
        formula = self._known(number, known)
        _require(formula[0] == ">=", "is no inequality")
        self._spend(len(formula[1]))
        return dict(formula[1])

    # formulas

    def _formula(self, said: Any, depth: int) -> _Formula:
        _require(depth <= DEEPEST and _is_list(said, 2, 2), "a formula is a word and what follows")
        match said:
            case [">=", list(terms)]:
                return self._line(self._polynomial(terms))
            case [("is" | "not") as word, name]:
                self._name(name)
                return (word, name)
            case [("and" | "or") as word, list(parts)]:
                self._spend(len(parts))
                return _joined(word, [self._formula(part, depth + 1) for part in parts])
        raise InvalidCertificate("a formula has another form")

    def _polynomial(self, terms: list[Any]) -> _Line:
        _require(len(terms) <= MOST_TERMS, "has too many terms")
        found: _Line = {}
        for term in terms:
            _require(_is_list(term, 1 + MOST_FACTORS, 1), "a term is a factor and names")
            _require(type(term[0]) is int, "a factor is an integer")
            for name in term[1:]:
                self._name(name)
            monomial = tuple(sorted(term[1:]))
            found[monomial] = found.get(monomial, 0) + term[0]
        return found

    def _name(self, name: Any) -> None:
        _require(type(name) is int and 0 <= name < self._names, "there is no such name")

    def _line(self, line: _Line) -> _Formula:
        """Return that a polynomial is at least 0, with smallest factors."""
        self._spend(len(line))
        line = {m: c for m, c in line.items() if c}
        _require(len(line) <= MOST_TERMS, "has too many terms")
        _require(all(len(m) <= MOST_FACTORS for m in line), "has too many factors")
        _require(all(c.bit_length() <= MOST_BITS for c in line.values()), "a factor is too large")
        shared = math.gcd(*(factor for monomial, factor in line.items() if monomial))
        if not shared:
            return _TRUE if line.get((), 0) >= 0 else _FALSE
        return (">=", tuple(sorted((m, c // shared) for m, c in line.items() if c // shared)))

    def _times(self, a: _Line, b: _Line) -> _Line:
        self._spend(len(a) * len(b))
        made: _Line = {}
        for m, c in a.items():
            for n, d in b.items():
                product = tuple(sorted(m + n))
                made[product] = made.get(product, 0) + c * d
        return made

    def _replaced(self, formula: _Formula, name: int, by: _Line) -> _Formula:
        self._spend(len(formula[1]) if formula[0] in ("and", "or") else 1)
        if formula[0] in ("and", "or"):
            return _joined(formula[0], [self._replaced(part, name, by) for part in formula[1]])
        if formula[0] != ">=":
            return formula
        total: _Line = {}
        for monomial, factor in formula[1]:
            made: _Line = {tuple(one for one in monomial if one != name): factor}
            for _ in range(monomial.count(name)):
                made = self._times(made, by)
                _require(len(made) <= MOST_TERMS, "has too many terms")
            for m, c in made.items():
                total[m] = total.get(m, 0) + c
        return self._line(total)

    def _spend(self, work: int) -> None:
        self._work += work + 1
        _require(self._work <= MOST_WORK, "takes more work than a check may")


def _joined(word: str, parts: list[_Formula]) -> _Formula:
    """Return an "and" or "or" without repeats, and without what always or never holds."""
    neutral, decisive = (_TRUE, _FALSE) if word == "and" else (_FALSE, _TRUE)
    if decisive in parts:
        return decisive
    flat: dict[_Formula, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part[1] if part[0] == word else (part,))
    return next(iter(flat)) if len(flat) == 1 else (word, tuple(flat)) if flat else neutral


def _parts(formula: _Formula) -> tuple[_Formula, ...]:
    return formula[1] if formula[0] == "and" else (formula,)


def _opposite(formula: _Formula) -> _Formula:
    match formula:
        case (">=", terms):
            line = {monomial: -factor for monomial, factor in terms}
            line[()] = line.get((), 0) - 1
            return (">=", tuple(sorted((m, c) for m, c in line.items() if c)))
        case ("is", name):
            return ("not", name)
        case ("not", name):
            return ("is", name)
    return _joined("or" if formula[0] == "and" else "and", [_opposite(part) for part in formula[1]])
