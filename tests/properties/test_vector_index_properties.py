"""An index of vectors that grows and shrinks, against brute force over what it should hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import stores
from rag.lexical import passage_rows
from rag.stores import faiss as faiss_index
from rag.types import Keys, Scores, Vectors

directions = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)
names = st.integers(0, 12)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(names, directions), max_size=6)),
        st.tuples(st.just("remove"), st.lists(names, max_size=6)),
    ),
    max_size=12,
)


def brute(keys: Keys, vectors: Vectors, query: Vectors, k: int) -> tuple[Keys, Scores]:
    scores = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]


def unit(direction: list[int]) -> Vectors:
    vector = np.array(direction, dtype=np.float64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@given(steps, directions, st.integers(1, 15), st.none() | st.sets(names))
def test_growing_and_shrinking_equals_building_at_once(plan, direction, k, allowed):
    store, held = stores.empty("flat", 3), dict[int, Vectors]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_rows, "SMALLEST_SEGMENT", 1)
        patch.setattr(faiss_index, "MARGIN", 0)
        patch.setattr(faiss_index, "CHUNK", 2)
        for verb, items in plan:
            if verb == "add":
                rows = [unit(item[1]) for item in items]
                keys = np.array([item[0] for item in items], dtype=np.int64)
                store = store.added(keys, np.array(rows, dtype=np.float32).reshape(-1, 3))
                held.update(zip(keys.tolist(), rows, strict=True))
            else:
                store = store.removed(np.array(items, dtype=np.int64))
                held = {key: row for key, row in held.items() if key not in items}
        choice = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
        found = store.search(unit(direction), k, choice)
    kept = [key for key in held if allowed is None or key in allowed]
    rows = np.array([held[key] for key in kept], dtype=np.float32).reshape(-1, 3)
    expected = brute(np.array(kept, dtype=np.int64), rows, unit(direction), k)
    assert len(store) == len(held)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()
