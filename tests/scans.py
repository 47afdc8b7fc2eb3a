"""Scans of text: a page as a scanner would make it, skewed, noisy and compressed."""

import io
import random
import re

import numpy as np
from PIL import Image, ImageDraw, ImageFont

DPI = 200


def printed(text: str, turn: int = 0) -> Image.Image:
    """An A4 page with lines of text, turned by ``turn`` degrees against the clock."""
    page = Image.new("L", (1654, 2339), 255)
    font = ImageFont.load_default(34)
    ImageDraw.Draw(page).multiline_text((180, 220), text, 0, font, spacing=18)
    return page.rotate(turn, expand=True)


def scanned(page: Image.Image, seed: int) -> Image.Image:
    """A page skewed by up to one degree, with noise, after a JPEG of quality 60."""
    dice = random.Random(seed)
    skewed = page.convert("L").rotate(
        dice.uniform(-1, 1), resample=Image.Resampling.BICUBIC, fillcolor=255
    )
    noise = np.random.default_rng(seed).normal(0, 12, skewed.size[::-1])
    noisy = np.clip(np.asarray(skewed, dtype=np.float64) + noise, 0, 255).astype(np.uint8)
    packed = io.BytesIO()
    Image.fromarray(noisy).save(packed, "JPEG", quality=60)
    return Image.open(packed)


def pdf_of(*pages: Image.Image) -> bytes:
    """A PDF that holds nothing but pictures of its pages."""
    data = io.BytesIO()
    pages[0].save(data, "PDF", resolution=DPI, save_all=True, append_images=pages[1:])
    return data.getvalue()


def word_recall(expected: str, found: str) -> float:
    """The share of words, in lower case, that were found: each counts as often as it stands."""
    left = re.findall(r"\w+", found.lower())
    words = re.findall(r"\w+", expected.lower())
    hits = 0
    for word in words:
        if word in left:
            left.remove(word)
            hits += 1
    return hits / len(words)
