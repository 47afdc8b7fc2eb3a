"""Recognising scans of text pages: recall of words, and seconds of a processor a page.

``python -m rag bench --only recognition`` runs it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image

from rag.readers.ocr.recognition import Recogniser
from tests.scans import DPI, scanned, word_recall

PAGES = 20
LEAST_WORDS = 200


def measure(
    folder: Path, *, pages: int = PAGES, least_words: int = LEAST_WORDS
) -> dict[str, float]:
    """Figures of pages of ``aragog`` at 200 dots an inch, skewed, noisy and compressed."""
    recogniser = Recogniser(lambda: None)
    recalls, seconds, confidences = list[float](), list[float](), list[float]()
    for seed, (page, text) in enumerate(islice(text_pages(folder / "aragog", least_words), pages)):
        picture, start = scanned(page, seed), time.process_time()
        found = recogniser.read(picture, DPI)
        seconds.append(time.process_time() - start)
        recalls.append(word_recall(text, found.text if found else ""))
        confidences.append(found.confidence if found else 0.0)
    return {
        "pages": float(len(recalls)),
        "median_word_recall": float(np.median(recalls)),
        "least_word_recall": min(recalls),
        "median_confidence": float(np.median(confidences)),
        "cpu_seconds_a_page": float(np.mean(seconds)),
    }


def text_pages(folder: Path, least_words: int) -> Iterator[tuple[Image.Image, str]]:
    """Every third page with enough words, and pdfium's text of it without hyphens at line ends."""
    for path in sorted(folder.rglob("*.pdf")):
        with pypdfium2.PdfDocument(path) as document:
            for index in range(1, len(document), 3):
                text = document[index].get_textpage().get_text_bounded()
                if len(text.split()) >= least_words:
                    drawn = document[index].render(scale=DPI / 72, grayscale=True)
                    yield drawn.to_pil(), text.replace("\ufffe", "-")
