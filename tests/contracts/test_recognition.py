"""Text in pictures: scans in PDFs and pictures as documents, upright or turned."""

import io

import pytest
from PIL import Image

from rag import Document, UnreadableDocument
from rag.readers import read, recognition
from tests.sample_files import put
from tests.scans import pdf_of, printed, scanned, word_recall

TEXT = """Care of the laboratory freezer

Defrost the freezer twice a year. Wear gloves, and move all samples
to the reserve freezer before the door is opened. The alarm sounds
when the temperature stays above sixty degrees below zero for more
than ten minutes; a technician is called at once and notes the cause.

Check the seal of the door every month. A worn seal lets warm air in,
and ice grows on the upper shelf. Order another one from the workshop
before the winter, because delivery takes about four weeks."""


@pytest.mark.parametrize("turn", [0, 90, 180])
def test_a_scan_is_read_whichever_way_it_lies(tmp_path, turn):
    document = read(put(tmp_path, pdf_of(scanned(printed(TEXT, turn), 3))), "scan.pdf")
    assert word_recall(TEXT, document.text) >= 0.97
    page = document.pages[0]
    assert (page.number, page.start, page.end) == (1, 0, len(document.text))
    assert page.confidence is not None
    assert page.confidence >= 80
    assert document.receipt.read["recognised_pages"] == 1
    assert document.receipt.left_out == ()


@pytest.mark.parametrize(
    ("kind", "name"), [("PNG", "a.png"), ("JPEG", "a.jpeg"), ("TIFF", "a.tif")]
)
def test_a_picture_is_a_document(tmp_path, kind, name):
    document = read(put(tmp_path, picture(kind, printed(TEXT))), name)
    assert document.text.startswith("Care of the laboratory freezer")
    assert [page.number for page in document.pages] == [1]


def test_every_picture_of_a_fax_is_a_page(tmp_path):
    data = picture("TIFF", printed("The first page is about freezers."), printed("Seals wear out."))
    document = read(put(tmp_path, data), "fax.tiff")
    assert texts(document) == ["The first page is about freezers.", "Seals wear out."]


def test_an_empty_picture_says_that_nothing_is_in_it(tmp_path):
    with pytest.raises(UnreadableDocument, match="No text can be recognised") as caught:
        read(put(tmp_path, picture("PNG", Image.new("L", (800, 600), 255))), "a.png")
    assert caught.value.reason == "scanned"


def test_a_damaged_picture_is_told_as_such(tmp_path):
    data = picture("PNG", printed(TEXT))
    with pytest.raises(UnreadableDocument) as caught:
        read(put(tmp_path, data[: len(data) // 2]), "a.png")
    assert caught.value.reason == "damaged"


def test_pages_beyond_the_time_of_a_file_are_left_out():
    assert recognition.Recogniser(lambda: None, seconds=-1).read(printed(TEXT)) is None


class _Slow:
    """A model that needs some time by the clock, of which it gets a share of a processor."""

    def __init__(self, needs: float, share: float) -> None:
        self.needs, self.share = needs, share
        self.now = 0.0
        self.limits = list[float]()

    def process_time(self) -> float:
        return self.now

    def Recognize(self, milliseconds: int) -> bool:  # noqa: N802
        self.limits.append(milliseconds / 1000)
        self.now += min(self.needs, self.limits[-1]) * self.share
        return self.needs <= self.limits[-1]

    def SetImage(self, _picture: Image.Image) -> None: ...  # noqa: N802

    def SetSourceResolution(self, _dpi: int) -> None: ...  # noqa: N802

    def GetUTF8Text(self) -> str:  # noqa: N802
        return "Defrost the freezer."

    def MeanTextConf(self) -> int:  # noqa: N802
        return 92

    def Clear(self) -> None: ...  # noqa: N802


@pytest.mark.parametrize(
    ("needs", "share", "limits", "text"),
    [
        pytest.param(2.0, 1.0, [15.0], "Defrost the freezer.", id="idle"),
        pytest.param(60.0, 0.05, [15.0, 300.0], "Defrost the freezer.", id="busy"),
        pytest.param(60.0, 0.3, [15.0, 100.0], "Defrost the freezer.", id="less busy"),
        pytest.param(60.0, 1.0, [15.0], None, id="slow by itself"),
        pytest.param(9999.0, 0.0, [15.0, 300.0], None, id="for ever"),
    ],
)
def test_a_busy_machine_loses_no_page(monkeypatch, needs, share, limits, text):
    model = _Slow(needs, share)
    monkeypatch.setattr(recognition, "_model", lambda _languages: model)
    monkeypatch.setattr(recognition.time, "process_time", model.process_time)
    found = recognition._recognised(Image.new("L", (8, 8)), 200, 15.0)
    assert (found.text if found else None) == text
    assert model.limits == pytest.approx(limits)


def picture(kind: str, *pages: Image.Image) -> bytes:
    data = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(data, kind, **more)
    return data.getvalue()


def texts(document: Document) -> list[str]:
    return [document.text[page.start : page.end] for page in document.pages]
