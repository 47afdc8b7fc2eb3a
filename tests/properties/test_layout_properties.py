"""Whatever stands on a PDF page, and wherever: every word of it is in the text, once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.layout import page_blocks
from rag.readers.pdf.words import Word

TEXTS = ["Total", "12.5", "2024", "%", "-", "(3)", "the", "Assets", "1,200", "x", "Q4", "a", ")"]
COLUMNS = [40.0, 41.5, 110.0, 180.0, 183.0, 250.0, 320.0, 322.0, 400.0, 470.0]


@st.composite
def pages(draw: st.DrawFn) -> tuple[list[Word], Drawn]:
    """Words near the places of a grid, as in tables, with rules between some of them."""
    words = list[Word]()
    for row in range(draw(st.integers(1, 14))):
        top = 40 + row * draw(st.sampled_from([11.0, 12.0, 12.0, 20.0, 40.0]))
        for left in sorted(draw(st.sets(st.sampled_from(COLUMNS), min_size=1, max_size=6))):
            text = draw(st.sampled_from(TEXTS))
            size = draw(st.sampled_from([9.0, 10.0, 10.0, 14.0]))
            turned = draw(st.sampled_from([False] * 19 + [True]))
            width = len(text) * size / 2
            words.append(Word(text, left, top, left + width, top + size, len(words), turned))
    if draw(st.booleans()):
        words = [words[place] for place in draw(st.permutations(range(len(words))))]
        for place, word in enumerate(words):
            word.place = place
    lines = st.builds(
        Rule,
        start=st.sampled_from([38.0, 100.0, 240.0]),
        end=st.sampled_from([90.0, 230.0, 520.0]),
        at=st.sampled_from([38.0, 52.0, 63.0, 100.0, 175.0, 245.0, 315.0, 520.0]),
    )
    few = st.lists(lines, max_size=6)
    boxes = st.tuples(
        *map(st.sampled_from, ([38.0, 105.0], [38.0, 64.0], [100.0, 500.0], [50.0, 90.0]))
    )
    return words, Drawn(across=draw(few), down=draw(few), fills=draw(st.lists(boxes, max_size=3)))


@given(pages())
def test_every_word_of_a_page_is_in_its_text(page):
    words, drawn = page
    expected = Counter("".join(word.text for word in words))
    found = Counter[str]()
    for block in page_blocks(words, drawn):
        if isinstance(block, str):
            parts = [block]
        else:
            parts = [*block.caption, *(cell for row in block.table.rows for cell in row)]
        found.update("".join("".join(part.split()) for part in parts))
    assert found == expected
