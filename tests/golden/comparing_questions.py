"""Thirty questions that compare, over four sets of documents in several formats.

A question has the words that a right answer has, and words that only a wrong one has. Where the
documents have no answer, there are no words: only a doubtful or refused answer is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.sample_files import html, workbook

SHIPS = """ship,type,built,length,draught,crew
Marigold,ferry,1998,84 m,3.9 m,22
Petrel,tug,2011,31 m,4.2 m,6
Osprey,ferry,2016,112 m,5.1 m,31
Wren,pilot boat,2020,1900 cm,1.4 m,3
Heron,tug,1987,28 m,3.8 m,7
"""
FEES = html(
    "<h1>Harbour fees</h1><p>Fees are due on arrival.</p>"
    "<table><tr><th>Service</th><th>Summer</th><th>Winter</th></tr>"
    "<tr><td>Mooring</td><td>40 EUR</td><td>25 EUR</td></tr>"
    "<tr><td>Pilot</td><td>310 EUR</td><td>355 EUR</td></tr>"
    "<tr><td>Fresh water</td><td>8 EUR</td><td>12 EUR</td></tr></table>"
)
RULES = """# Harbour rules {year}

Ships longer than {length} metres take a pilot.

Mooring is free for {hours} hours in an emergency.

The speed limit within the breakwater is {knots} knots.
"""
COURSES = {
    "Courses": [
        ["Course", "Teacher", "Weeks", "Price (EUR)", "Begins"],
        ["Pottery", "Ines Vale", 6, 140, "2026-03-02"],
        ["Bookbinding", "Omar Lindt", 10, 260, "2026-01-19"],
        ["Weaving for beginners", "Ines Vale", 4, 95, "2026-05-04"],
        ["Silversmithing", "Tove Arndt", 8, 380, "2026-02-09"],
    ],
    "Rooms": [
        ["Room", "Kiln hall", "Loom attic", "Forge"],
        ["Seats", 14, 9, 6],
        ["Area", "80 m²", "55 m²", "48 m²"],
        ["Floor", "ground", "second", "ground"],
        ["Rent per hour", "18 EUR", "11 EUR", "24 EUR"],
    ],
}
BIKES = """# Hire bikes

The Alder is a touring bike for long flat roads. The Birch is a mountain bike for steep trails.

| Property | Alder | Birch |
|---|---|---|
| Weight | 13.5 kg | 11800 g |
| Gears | 21 | 12 |
| Range of the battery | 120 km | 80 km |
| Frame | steel | aluminium |
"""
HUETTEN = """# Hütten im Tal

| Hütte | Höhe | Betten | Preis pro Nacht |
|---|---|---|---|
| Almblick | 1820 m | 24 | 38,50 € |
| Gipfelruh | 2645 m | 60 | 52,00 € |
| Seehaus | 1340 m | 12 | 44,00 € |
"""
SETS: Mapping[str, Mapping[str, str | bytes]] = {
    "harbour": {
        "ships.csv": SHIPS,
        "fees.html": FEES,
        "harbour-rules-2022.md": RULES.format(year=2022, length=90, hours=12, knots=6),
        "harbour-rules-2025.md": RULES.format(year=2025, length=75, hours=24, knots=5),
    },
    "school": {"courses.xlsx": workbook(**COURSES), "bikes.md": BIKES},
    "valley": {"huetten.md": HUETTEN},
}


@dataclass(frozen=True)
class Compared:
    """A question to a set ("sample" for the sample) with what its answer has and has not."""

    documents: str
    question: str
    has: Sequence[str] = ()
    lacks: Sequence[str] = ()


QUESTIONS = (
    Compared(
        "sample",
        "What is the difference between the C16 and the C16R?",
        ("| Weight without rotor | “31 kg” [1] | “62 kg” [2] |", "980 W"),
    ),
    Compared("sample", "How does the Isotide T12 differ from the T30?", ("0.05 K", "0.03 K")),
    Compared("sample", "Which is heavier, the U400 or the U700?", ("248 kg", "336 kg"), ("Racks",)),
    Compared(
        "sample",
        "What is the difference between bronze and gold contracts?",
        ("5 working days", "next working day"),
    ),
    Compared("sample", "Which centrifuge is the most expensive?", ("12850.00",), ("7290.00",)),
    Compared("sample", "Which oven is the cheapest?", ("1940.00",), ("1890.00",)),
    Compared("sample", "Which tube material lasts longest at half speed?", ("8 000",)),
    Compared("sample", "Which service contract is the cheapest?"),
    Compared("sample", "How much did the C16 cost in 2025?", ("4280.00",), ("4490.00",)),
    Compared(
        "sample",
        "How many days of annual leave did employees get in 2025?",
        ("27 days",),
        ("29 days",),
    ),
    Compared("sample", "What is the current price of the Corvane C16?", ("4490.00",), ("4280.00",)),
    Compared(
        "sample",
        "What is the difference in carry-over between the 2024 and 2026 leave policy?",
        ("five days", "eight days"),
    ),
    Compared("sample", "Which is faster, the C16 or the X99?"),
    Compared("harbour", "Which ship is the longest?", ("Osprey", "112 m"), ("Wren",)),
    Compared("harbour", "What is the shortest ship?", ("Wren", "1900 cm"), ("Heron",)),
    Compared("harbour", "Which tug has the largest crew?", ("Heron",), ("Osprey", "Petrel")),
    Compared("harbour", "Which is the oldest ferry?", ("Marigold", "1998"), ("Heron",)),
    Compared("harbour", "Which submarine is the longest?"),
    Compared(
        "harbour",
        "Compare the Petrel with the Heron.",
        ("“31 m” [1] | “28 m” [2]", "2011", "1987"),
        ("Osprey",),
    ),
    Compared("harbour", "Which service is the most expensive in winter?", ("Pilot", "355 EUR")),
    Compared("harbour", "What is the speed limit now?", ("5 knots",), ("6 knots",)),
    Compared("harbour", "What was the speed limit in 2023?", ("6 knots",), ("5 knots",)),
    Compared("school", "Which course takes the most weeks?", ("Bookbinding",), ("Pottery",)),
    Compared("school", "What is the second cheapest course?", ("Pottery", "140"), ("Weaving",)),
    Compared("school", "Which course begins the latest?", ("Weaving",), ("Bookbinding",)),
    Compared("school", "Which room has the most seats?", ("Seats", "14")),
    Compared(
        "school",
        "What is the difference in weight between the Alder and the Birch?",
        ("“13.5 kg” [1] | “11800 g” [1]",),
        ("Gears",),
    ),
    Compared("school", "Which course is the loudest?"),
    Compared("valley", "Welche Hütte ist die teuerste?", ("Gipfelruh",), ("Seehaus",)),
    Compared(
        "valley",
        "Was ist der Unterschied zwischen Almblick und Seehaus?",
        ("“1820 m” [1] | “1340 m” [2]",),
        ("Gipfelruh",),
    ),
)
