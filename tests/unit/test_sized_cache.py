"""What is read of runs is kept for whoever asks for the same, within bounds."""

from rag.runs.sized_cache import SizedCache


def test_the_values_that_were_asked_for_last_are_kept():
    kept, read = SizedCache[list[int]](10), list[str]()

    def ask(name: str, size: int) -> list[int]:
        def value() -> list[int]:
            read.append(name)
            return [0] * size

        return kept.get(name, value)

    first = ask("a", 4)
    assert ask("a", 4) is first
    ask("b", 4)
    ask("a", 4)
    ask("c", 3)  # ten entries with one for each value itself: room for two of three
    assert read == ["a", "b", "c"]
    ask("a", 4)
    ask("b", 4)
    assert read == ["a", "b", "c", "b"]


def test_a_value_that_is_too_large_is_kept_alone():
    kept = SizedCache[list[int]](10)
    large = kept.get("large", lambda: [0] * 50)
    assert kept.get("large", list) is large
    small = kept.get("small", list)
    assert kept.get("large", lambda: [1]) == [1]
    assert kept.get("small", lambda: [1]) is small
