"""The colours can be told apart, by everybody, in light and dark."""

import itertools
import tomllib
from pathlib import Path

import numpy as np
import pytest

from pages.components.shell.charts import DARK, LIGHT, template

CONFIG = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"
THEMES = {"light": LIGHT, "dark": DARK}

# Machado, Oliveira, Fernandes: "A Physiologically-based Model for Simulation of Color Vision
# Deficiency" (2009), severity 1.0, for linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)
LEAST_DISTANCE = 16.0  # CIE 1976; 2.3 is just noticeable


def test_contrast_of_black_and_white_is_21():
    assert _contrast("#000000", "#FFFFFF") == pytest.approx(21.0)


@pytest.mark.parametrize("theme", THEMES)
def test_every_meaning_stands_out_from_the_page(theme):
    colours = THEMES[theme]
    low = {name: _contrast(c, colours.page) for name, c in colours.meanings.items()}
    assert {name: value for name, value in low.items() if value < 3.0} == {}


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_no_two_meanings_look_alike(theme, vision):
    seen = {name: _lab(c, VISION[vision]) for name, c in THEMES[theme].meanings.items()}
    pairs = itertools.combinations(seen, 2)
    distances = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in pairs}
    assert {pair: d for pair, d in distances.items() if d < LEAST_DISTANCE} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_draws_with_the_same_colours(theme):
    section = _section(theme)
    colours = THEMES[theme]
    assert section["chartCategoricalColors"] == list(colours.meanings.values())
    assert section["backgroundColor"] == colours.page
    assert section["textColor"] == colours.text


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("part", ["main", "sidebar"])
def test_text_is_readable_on_every_surface(theme, part):
    section = _section(theme) if part == "main" else _section(theme)["sidebar"]
    surfaces = [section["backgroundColor"], section["secondaryBackgroundColor"]]
    inks = [section["textColor"], section["linkColor"], section["codeTextColor"]]
    assert min(_contrast(ink, s) for ink in inks for s in surfaces) >= 4.5
    # Captions are text at 60 %, and what is selected is written in the accent on a tint of it.
    captions = [_mixed(section["textColor"], surface, 0.6) for surface in surfaces[:1]]
    assert min(map(_contrast, captions, surfaces)) >= 4.5
    accent = section["primaryColor"]
    tints = [_mixed(accent, surface, 0.1) for surface in surfaces[:1]]
    assert min(_contrast(accent, surface) for surface in [*surfaces, *tints]) >= 4.5
    # What is written on the accent: Streamlit's white, or the ink of a filled button in the dark.
    assert _contrast(DARK.page if theme == "dark" else "#FFFFFF", accent) >= 4.5
    assert _contrast("#FFFFFF", accent) >= 3.0  # the icon beside it


def test_headings_have_weights_that_streamlit_takes():
    weights = tomllib.loads(CONFIG.read_text())["theme"]["headingFontWeights"]
    assert [weight for weight in weights if weight % 50] == []


@pytest.mark.parametrize("theme", THEMES)
def test_named_text_colours_are_readable(theme):
    section = _section(theme)
    named = {k: v for k, v in section.items() if k.endswith("Color") and k[:-5] in _NAMED}
    assert set(named) == {f"{name}Color" for name in _NAMED}
    named |= {k: v for k, v in section.items() if k.endswith("TextColor")}
    assert {k for k, v in named.items() if _contrast(v, section["backgroundColor"]) < 4.5} == set()


@pytest.mark.parametrize("colours", THEMES.values(), ids=THEMES)
def test_the_plotly_template_takes_its_colours_from_the_palette(colours):
    layout = template(colours).layout
    assert list(layout.colorway) == list(colours.meanings.values())
    assert layout.font.color == colours.text
    assert layout.xaxis.gridcolor == colours.grid


_NAMED = ("red", "orange", "yellow", "green", "blue", "violet", "gray")


def _section(theme: str) -> dict[str, str]:
    return tomllib.loads(CONFIG.read_text())["theme"][theme]


def _linear(colour: str) -> np.ndarray:
    """sRGB ``#RRGGBB`` to linear RGB in 0..1 (IEC 61966-2-1)."""
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2."""
    low, high = sorted(float(TO_XYZ[1] @ _linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _mixed(ink: str, surface: str, share: float) -> str:
    """An ink that lets a surface through."""
    pairs = ((int(ink[i : i + 2], 16), int(surface[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02X}" for a, b in pairs)


def _lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as somebody with that vision sees it."""
    x, y, z = TO_XYZ @ np.clip(vision @ _linear(colour), 0, 1) / WHITE
    fx, fy, fz = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])
