"""Tables of drawn PDFs keep their rows and labels; pages keep their words in order."""

import pytest

from rag.readers import read
from tests.drawn_tables import drawn_pdfs, kept


@pytest.mark.parametrize("drawn", drawn_pdfs(range(2)), ids=lambda drawn: drawn.kind)
def test_every_row_and_label_of_a_drawn_table_is_known(tmp_path, drawn):
    path = tmp_path / "content"
    path.write_bytes(drawn.data)
    rows, whole, labelled = kept(read(path, "drawn.pdf"), drawn)
    assert (whole, labelled) == (rows, rows)
