"""The steps that a backtracking search takes, counted: one for each part that is tried at a place.

It does what Python's own engine does, without its shortcuts, which save no more than a factor.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from re import _compiler as compiler
from re import _constants as op
from re import _parser as parser
from typing import Any

sys.setrecursionlimit(max(sys.getrecursionlimit(), 50_000))

MOST_ROUNDS = 10
"""A repeat that has a bound is tried no more often."""

Then = Callable[[int], bool]
Part = Callable[[int, Then], bool]
_ONE_LETTER = {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN}


class Budget(Exception):
    """More steps than are counted."""


def steps_of(pattern: str, flags: int, method: str, text: str, most: int) -> int:
    """The steps of a method of ``re.Pattern`` on a text. Raises Budget for more than ``most``."""
    matcher = _matcher(pattern, flags)
    matcher.steps, matcher.most, matcher.text, matcher.groups = 0, most, text, {}
    if method in ("match", "fullmatch"):
        whole = method == "fullmatch"
        matcher.whole(0, lambda end: not whole or end == len(text))
    else:
        matcher.scan(once=method == "search")
    return matcher.steps


@functools.lru_cache(maxsize=4)
def _matcher(pattern: str, flags: int) -> _Matcher:
    return _Matcher(pattern, flags)


class _Matcher:
    def __init__(self, pattern: str, flags: int) -> None:
        self.steps, self.most, self.text = 0, 0, ""
        self.groups: dict[int, tuple[int, int]] = {}
        parsed = parser.parse(pattern, flags)
        self._state = parsed.state
        self.whole = self._sequence(parsed, parsed.state.flags)

    def scan(self, *, once: bool) -> None:
        """Searches from every place, going on behind each match."""
        place, ends = 0, list[int]()
        while place <= len(self.text):
            ends.clear()
            if not self.whole(place, lambda end: ends.append(end) or True):
                place += 1
            elif once:
                return
            else:
                place = max(ends[0], place + 1)

    def _step(self, number: int = 1) -> None:
        self.steps += number
        if self.steps > self.most:
            raise Budget

    def _sequence(self, parsed: Any, flags: int) -> Part:
        parts = [self._part(code, given, flags) for code, given in parsed]

        def link(first: Part, rest: Part) -> Part:
            return lambda place, then: first(place, lambda end: rest(end, then))

        if not parts:
            return lambda place, then: then(place)
        return functools.reduce(lambda rest, first: link(first, rest), reversed(parts))

    def _part(self, code: Any, given: Any, flags: int) -> Part:
        if code in _ONE_LETTER:
            return self._letter(self._test(code, given, flags))
        match code:
            case op.SUBPATTERN:
                group, more, less, inner = given
                return self._group(group, self._sequence(inner, flags & ~less | more))
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                return self._repeat(code, *given, flags)
            case op.BRANCH:
                return self._branch([self._sequence(inner, flags) for inner in given[1]])
            case op.AT:
                return self._at(given, flags)
            case op.ASSERT | op.ASSERT_NOT:
                return self._look(code, *given, flags)
            case op.ATOMIC_GROUP:
                return self._atomic(self._sequence(given, flags))
            case op.GROUPREF:
                return self._again(given)
        raise NotImplementedError(str(code))

    def _test(self, code: Any, given: Any, flags: int) -> Callable[[str], bool]:
        """Python's own answer to whether a letter fits, kept by letter."""
        only = parser.SubPattern(self._state, [(code, given)])
        letter = compiler.compile(only, flags)
        return functools.cache(lambda sign: letter.fullmatch(sign) is not None)

    def _letter(self, fits: Callable[[str], bool]) -> Part:
        def part(place: int, then: Then) -> bool:
            self._step()
            return place < len(self.text) and fits(self.text[place]) and then(place + 1)

        return part

    def _group(self, group: int | None, inner: Part) -> Part:
        if group is None:
            return inner

        def part(place: int, then: Then) -> bool:
            def leave(end: int) -> bool:
                before = self.groups.get(group)
                self.groups[group] = (place, end)
                if then(end):
                    return True
                if before is None:
                    del self.groups[group]
                else:
                    self.groups[group] = before
                return False

            return inner(place, leave)

        return part

    def _branch(self, ways: list[Part]) -> Part:
        def part(place: int, then: Then) -> bool:
            self._step()
            return any(way(place, then) for way in ways)

        return part

    def _again(self, group: int) -> Part:
        def part(place: int, then: Then) -> bool:
            self._step()
            start, end = self.groups.get(group, (0, -1))
            same = end >= start and self.text.startswith(self.text[start:end], place)
            return same and then(place + end - start)

        return part

    def _atomic(self, inner: Part) -> Part:
        def part(place: int, then: Then) -> bool:
            ends = list[int]()
            return inner(place, lambda end: ends.append(end) or True) and then(ends[0])

        return part

    def _look(self, code: Any, direction: int, parsed: Any, flags: int) -> Part:
        inner, width = self._sequence(parsed, flags), parsed.getwidth()[0]

        def part(place: int, then: Then) -> bool:
            self._step()
            start = place if direction > 0 else place - width
            seen = start >= 0 and inner(start, lambda _: True)
            return seen is (code is op.ASSERT) and then(place)

        return part

    def _at(self, where: Any, flags: int) -> Part:
        sign = {
            op.AT_BEGINNING: "^",
            op.AT_BEGINNING_STRING: r"\A",
            op.AT_END: "$",
            op.AT_END_STRING: r"\Z",
            op.AT_BOUNDARY: r"\b",
            op.AT_NON_BOUNDARY: r"\B",
        }[where]
        there = re.compile(sign, flags & ~re.DEBUG)

        def part(place: int, then: Then) -> bool:
            self._step()
            return there.match(self.text, place) is not None and then(place)

        return part

    def _repeat(self, code: Any, least: int, most: int, parsed: Any, flags: int) -> Part:
        if most != op.MAXREPEAT:  # any bound is one: a small one is seen at short texts
            least, most = min(least, MOST_ROUNDS), min(most, MOST_ROUNDS)
        if len(parsed) == 1 and parsed[0][0] in _ONE_LETTER:
            return self._run(code, least, most, self._test(*parsed[0], flags))
        inner = self._sequence(parsed, flags)
        if code is op.POSSESSIVE_REPEAT:
            return self._atomic(self._rounds(inner, least, most, lazy=False))
        return self._rounds(inner, least, most, lazy=code is op.MIN_REPEAT)

    def _rounds(self, inner: Part, least: int, most: int, *, lazy: bool) -> Part:
        def part(place: int, then: Then) -> bool:
            def round_from(number: int, start: int) -> bool:
                self._step()

                def another() -> bool:
                    return number < most and inner(
                        start,
                        lambda end: (end > start or number < least) and round_from(number + 1, end),
                    )

                if lazy:
                    return (number >= least and then(start)) or another()
                return another() or (number >= least and then(start))

            return round_from(0, place)

        return part

    def _run(self, code: Any, least: int, most: int, fits: Callable[[str], bool]) -> Part:
        """A repeated letter: no round of its own for each."""

        def longest(place: int, limit: int) -> int:
            end = place
            while end < len(self.text) and end - place < limit and fits(self.text[end]):
                end += 1
            self._step(end - place + 1)
            return end

        def greedy(place: int, then: Then) -> bool:
            end = longest(place, most)
            while end - place >= least:
                if then(end):
                    return True
                end -= 1
            return False

        def lazy(place: int, then: Then) -> bool:
            end = longest(place, least)
            if end - place < least:
                return False
            while not then(end):
                self._step()
                if end - place >= most or end >= len(self.text) or not fits(self.text[end]):
                    return False
                end += 1
            return True

        def possessive(place: int, then: Then) -> bool:
            end = longest(place, most)
            return end - place >= least and then(end)

        return {op.MAX_REPEAT: greedy, op.MIN_REPEAT: lazy, op.POSSESSIVE_REPEAT: possessive}[code]
