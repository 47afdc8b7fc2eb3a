"""Inputs that an expression may be slow on, made of its own parts."""

from collections.abc import Iterator
from re import _compiler as compiler
from re import _constants as op
from re import _parser as parser
from typing import Any

from tests.backtracking import MOST_ROUNDS

_SIGNS = " \t\na0A_!é"
_MISFIT = "\x00\n\x00"  # ends what fits so far, on any line and at the end
_REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}
_SAMPLES = 2
_FEW = 100  # times a part may be repeated without a growth that can be seen


def hostile_inputs(pattern: str, flags: int) -> list[tuple[str, str, str]]:
    """Start, what is repeated, and end of each input."""
    if not _grows(parser.parse(pattern, flags)):
        return []
    words = _Words(pattern, flags)
    starts = dict.fromkeys(["", *words.starts])
    signs = [sign for sign in words.alphabet if sign in _SIGNS or not sign.isalnum()]
    repeated = dict.fromkeys([*signs, *words.repeated])
    ended = [(start, word, _MISFIT) for start in starts for word in repeated if word]
    return [*(("", word, "") for word in repeated if word), *ended]


class _Words:
    """``repeated`` are beginnings of every sequence, ``starts`` what leads up to every repeat."""

    def __init__(self, pattern: str, flags: int) -> None:
        parsed = parser.parse(pattern, flags)
        self._flags = parsed.state.flags
        self._state = parsed.state
        literals = [chr(given) for code, given in _nodes(parsed) if code is op.LITERAL]
        ranges = [chr(end) for code, given in _nodes(parsed) if code is op.RANGE for end in given]
        self.alphabet = list(dict.fromkeys([*literals, *ranges[:8], *_SIGNS]))
        self.repeated = list[str]()
        self.starts = list[str]()
        self._walk(parsed, [""])

    def _walk(self, parsed: Any, before: list[str]) -> None:
        """Notes what a sequence that stands behind any of ``before`` is made of."""
        if not _grows(parsed):
            return
        for index, (code, given) in enumerate(parsed):
            self.repeated += self._samples(parsed[: index + 1])
            lead = self._joined(before, self._samples(parsed[:index]))
            if code in _REPEATS and given[1] > _FEW:
                self.starts += lead
                ways = [
                    way for inner, some in _nodes(given[2]) if inner is op.BRANCH for way in some[1]
                ]
                self.repeated += [sample for way in ways for sample in self._samples(way)]
            for inner in _sequences(code, given):
                self._walk(inner, lead)

    def _samples(self, parsed: Any) -> list[str]:
        """A few texts that a sequence matches, as far as looking around does not matter."""
        samples = [""]
        for code, given in parsed:
            samples = self._joined(samples, self._of(code, given))
        return samples

    def _joined(self, firsts: list[str], seconds: list[str]) -> list[str]:
        number = min(_SAMPLES, max(len(firsts), len(seconds)))
        pairs = range(number)
        return [firsts[n % len(firsts)] + seconds[n % len(seconds)] for n in pairs]

    def _of(self, code: Any, given: Any) -> list[str]:
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            only = compiler.compile(parser.SubPattern(self._state, [(code, given)]), self._flags)
            fitting = [sign for sign in self.alphabet if only.fullmatch(sign)]
            return fitting[:_SAMPLES] or [""]
        if code in _REPEATS:
            return [
                sample * min(max(given[0], 1), MOST_ROUNDS) for sample in self._samples(given[2])
            ]
        if code is op.BRANCH:
            every = [sample for way in given[1] for sample in self._samples(way)]
            return every[:_SAMPLES] or [""]
        if code is op.SUBPATTERN:
            return self._samples(given[3])
        if code is op.ATOMIC_GROUP:
            return self._samples(given)
        return [""]


def _grows(parsed: Any) -> bool:
    """Whether a sequence may match a text of any length: what does not is tried in no time."""
    return any(code in _REPEATS and given[1] > _FEW for code, given in _nodes(parsed))


def _sequences(code: Any, given: Any) -> list[Any]:
    if code in _REPEATS:
        return [given[2]]
    if code is op.SUBPATTERN:
        return [given[3]]
    if code is op.BRANCH:
        return list(given[1])
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [given[1]]
    return [given] if code is op.ATOMIC_GROUP else []


def _nodes(parsed: Any) -> Iterator[tuple[Any, Any]]:
    for code, given in parsed:
        yield code, given
        if code is op.IN:
            yield from given
        for inner in _sequences(code, given):
            yield from _nodes(inner)
