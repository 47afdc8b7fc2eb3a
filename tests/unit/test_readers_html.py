"""Web pages."""

import pytest

from rag import UnreadableDocument
from rag.readers import read
from tests.sample_files import PROSE, html, put

ARTICLE = (
    f"<nav>Home About</nav><article><h1>Top</h1><p>{PROSE}</p><h2>Sub one</h2><p>{PROSE}</p>"
    "<table><tr><th>City</th><th>Limit</th></tr><tr><td>Rome</td><td>120</td></tr></table>"
    "</article><footer>Imprint</footer><script>var hidden = 1</script>"
)


def test_main_text_keeps_headings_and_leaves_the_menu(tmp_path):
    document = read(put(tmp_path, html(ARTICLE, "<title>My page</title>")), "x.html")
    assert document.text.startswith(f"# Top\n\n{PROSE.strip()}\n\n## Sub one\n\n{PROSE.strip()}")
    assert document.text.endswith("\n\nCity\tLimit\nRome\t120")
    (table,) = document.tables
    assert document.text[table.start : table.end] == "City\tLimit\nRome\t120"
    assert table.labels == ("City", "Limit")
    assert not any(word in document.text for word in ("About", "Imprint", "hidden"))
    assert document.heading_at(len(document.text) - 1) == "Top > Sub one"
    assert document.metadata["title"] == "My page"


def test_a_short_page_is_read_whole(tmp_path):
    body = (
        "<h1>Hours</h1><div>We open at <b>nine</b>.<br>Closed on Sun&shy;days</div>"
        "<ul><li>one<li>two</ul><style>p {color: red}</style>tail"
    )
    document = read(put(tmp_path, html(body)), "x.htm")
    assert document.text == ("Hours\n\nWe open at nine.\n\nClosed on Sundays\n\none\n\ntwo\n\ntail")
    assert document.heading_at(20) == "Hours"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (html("<p>Größe", '<meta charset="utf-8">'), "Größe"),
        (
            "<html><head><meta http-equiv='Content-Type' content='text/html; charset=iso-8859-2'>"
            "</head><body>żółw</body></html>".encode("iso8859-2"),
            "żółw",
        ),
        ("\ufeff<html><body>żółw</body></html>".encode("utf-16"), "żółw"),
        (b"<?xml version='1.0' encoding='utf-8'?><html><body>plain</body></html>", "plain"),
        (b"no markup at all", "no markup at all"),
    ],
)
def test_encodings_and_declarations(tmp_path, data, text):
    assert read(put(tmp_path, data), "x.html").text == text


def test_deep_nesting_is_no_problem(tmp_path):
    data = html("<div>" * 1_500 + "deep" + "</div>" * 1_500)
    assert read(put(tmp_path, data), "x.html").text == "deep"


def test_a_page_built_by_scripts_is_empty(tmp_path):
    with pytest.raises(UnreadableDocument, match="no visible text") as caught:
        read(put(tmp_path, html("<div id=root></div><script>go()</script>")), "x.html")
    assert caught.value.reason == "empty"


def test_terms_stand_with_their_definitions(tmp_path):
    options = (
        "<dl><dt>-token</dt><dd><p>A secret that clients send.</p></dd>"
        "<dt>-pool</dt><dt>-pools</dt><dd>Addresses of pools.</dd></dl>"
        "<ul><li><dl><dt>low</dt><dd><p>Run with less time.</p></dd></dl></li></ul>"
    )
    document = read(
        put(tmp_path, html(f"<main><h1>Relay</h1><p>{PROSE}</p>{options}</main>")), "x.html"
    )
    assert "\n-token: A secret that clients send.\n" in document.text
    assert "\n-pool, -pools: Addresses of pools.\n" in document.text
    assert "\nlow: Run with less time." in document.text


def test_terms_without_a_definition_stay(tmp_path):
    listed = "<dl><dt>A term alone</dt></dl><dl><div><dt>Low</dt><dd>\n<p>Run.</p></dd></div></dl>"
    document = read(put(tmp_path, html(f"<h1>Relay</h1>{listed}")), "x.html")
    assert document.text == "Relay\n\nA term alone\n\nLow: Run."


SITE = (
    '<div id="menu"><ul><li><a href="/">Home of all pages</a></li></ul></div><div>{}</div>'
    '<div class="footer">Imprint and more</div>'
)


@pytest.mark.parametrize(
    "page",
    [
        "{}",
        "<div class=WordSection1>{}</div>",
        "<nav><a href='/'>Home of all pages</a></nav>{}<footer>Imprint and more</footer>",
        SITE,
    ],
)
def test_headings_and_lists_of_a_page_without_a_main_element(tmp_path, page):
    long = f"{PROSE} Frames of any colour. {PROSE}"
    own = f"<h1>Eye tests</h1><p>{long}</p><ul><li>60 pounds for frames</li></ul><p>End. {long}</p>"
    document = read(put(tmp_path, html(page.format(own))), "x.html")
    assert [heading.title for heading in document.headings] == ["Eye tests"]
    assert "- 60 pounds for frames" in document.text
    assert document.text.count("Frames of any colour.") == 2
    assert not any(word in document.text for word in ("Home of all pages", "Imprint"))


@pytest.mark.parametrize(
    "page",
    [
        "<nav>{menu}</nav><div class=wrap><h1>Guide</h1><p>Intro. {p}</p><table><tr><th>Fee</th>"
        "<th>Sum</th></tr><tr><td>Entry</td><td>12</td></tr></table><div class=part>{p8}</div>"
        "<div class=part><h2>Refunds</h2>{p3}</div></div>",
        "<div class=navbar>{menu}</div><div class=section><h1>Guide</h1><p>Intro. {p}</p><p>Fee: "
        "12</p><div class=section>{p8}</div><div class=section><h2>Refunds</h2>{p3}</div></div>",
        "<header>{menu}</header><section><h1>Guide</h1><p>Intro. {p}</p><p>Fee: 12</p></section>"
        "<section>{p8}</section><section><h2>Refunds</h2>{p3}</section>",
    ],
)
def test_no_section_of_a_page_is_lost(tmp_path, page):
    paragraphs = [f"<p>Part {number}. {PROSE}</p>" for number in range(11)]
    parts = {"p8": "".join(paragraphs[:8]), "p3": "".join(paragraphs[8:])}
    markup = page.format(menu="<a href='/'>Home of all</a>", p=PROSE, **parts)
    document = read(put(tmp_path, html(markup)), "x.html")
    for words in ("Intro.", "12", "Part 0.", "Part 10.", "Refunds"):
        assert words in document.text
    assert [heading.title for heading in document.headings] == ["Guide", "Refunds"]


def test_comments_do_not_replace_a_post(tmp_path):
    post = f"<div id=post><h1>Post</h1><p>Own words. {PROSE}</p><p>{PROSE}</p></div>"
    comments = "".join(f"<p>Comment {number}. {PROSE}</p>" for number in range(8))
    document = read(put(tmp_path, html(f"{post}<div id=comments>{comments}</div>")), "x.html")
    assert "Own words." in document.text


@pytest.mark.parametrize("rest", ["", f"<p>{PROSE}</p>" * 4], ids=["short", "long"])
def test_lists_keep_the_numbers_that_a_page_gives_them(tmp_path, rest):
    page = (
        "<main><h1>Labels</h1><ol><li>Log in</li></ol><p>A picture.</p>"
        '<ol start="2"><li>Open the <b>project</b></li><li><p>Save it</p></li>'
        '<li value="7">Print it</li></ol><p>Then count down.</p>'
        f"<ol reversed><li>Two</li><li>One</li></ol>{rest}</main>"
    )
    text = read(put(tmp_path, page.encode()), "x.html").text
    lines = [line for line in text.splitlines() if line]
    for line in ("2. Open the project", "3. Save it", "7. Print it", "2. Two", "1. One"):
        assert line in lines
    assert "#" not in text.removeprefix("# Labels")


@pytest.mark.parametrize("rest", ["", f"<p>{PROSE}</p>" * 4], ids=["short", "long"])
def test_cells_over_several_rows_and_rows_that_name_groups(tmp_path, rest):
    page = (
        "<main><h1>Fees</h1><table><thead><tr><th>Zone<th>Boat<th>Fee</thead><tr><th colspan=3>"
        "Members<tr><td rowspan=2>South<td>small<td>12<tr><td>large<td><a href=/f>24</a>"
        f"<tr><td colspan=3>Guests<tr><td>South<td>small<td>19</table>{rest}</main>"
    )
    document = read(put(tmp_path, page.encode()), "x.html")
    (table,) = document.tables
    assert document.text[table.start : table.end].split("\n") == [
        "Zone\tBoat\tFee",
        "Members",
        "Members: South\tsmall\t12",
        "Members: South\tlarge\t24",
        "Guests",
        "Guests: South\tsmall\t19",
    ]


def test_the_foot_of_a_table_is_below_its_rows_and_options_are_words(tmp_path):
    page = (
        "<h1>Anchor</h1><table><thead><tr><th>Pieces<th>Price</thead><tfoot><tr><td>Freight<td>95"
        "</tfoot><tbody><tr><td>1<td>1290</tbody></table><label>Colour</label><select>"
        "<option>Red</option><option>Blue</option></select>"
    )
    text = read(put(tmp_path, page.encode()), "x.html").text
    assert text == "Anchor\n\nPieces\tPrice\n1\t1290\nFreight\t95\n\nColour Red Blue"


def _fees(fee):
    row = "<div><div>{}</div><div>{}</div></div>"
    return f"<div>{row.format('Boat', 'Fee')}{row.format('Dinghy', fee)}</div>"


def test_links_and_buttons_side_by_side_are_words_of_their_own(tmp_path):
    page = (
        "<body><h1>Birds</h1><div><button>Owls</button><button>Gulls</button></div>"
        "<p>E<a>Mc</a><span>2</span></p><footer><a>Imprint</a><a>Privacy</a></footer></body>"
    )
    text = read(put(tmp_path, page), "x.html").text
    assert text == "Birds\n\nOwls Gulls\n\nEMc2\n\nImprint Privacy"


@pytest.mark.parametrize(
    "markup",
    [
        "<section><div>Members</div>{}</section><section><div>Guests</div>{}</section>",
        "<div><button aria-expanded='false'>Members</button></div><div>{}</div>"
        "<div><button aria-expanded='false'>Guests</button></div><div>{}</div>",
        "<div role='tablist'><button role='tab' id='a'>Members</button>"
        "<button role='tab' id='b'>Guests</button></div>"
        "<div role='tabpanel' aria-labelledby='a'>{}</div>"
        "<div role='tabpanel' aria-labelledby='b' hidden>{}</div>",
        "<div role='tablist'><button role='tab' aria-controls='a'>Members</button>"
        "<button role='tab' aria-controls='b'>Guests</button></div>"
        "<div role='tabpanel' id='a'>{}</div><div id='b' hidden>{}</div>",
    ],
)
def test_a_grid_stands_under_the_title_of_its_section_panel_or_tab(tmp_path, markup):
    path = tmp_path / "x"
    page = f"<body><main><h1>Fees</h1>{markup.format(_fees(12), _fees(19))}</main></body>"
    path.write_text(page)
    document = read(path, "x.html")
    above = [document.heading_at(document.text.index(f"Dinghy\t{fee}")) for fee in (12, 19)]
    assert above == ["Fees > Members", "Fees > Guests"]


def test_the_words_of_a_tab_stand_once_above_its_panel(tmp_path):
    path, tabs = tmp_path / "x", ("Pay as you sail", "Season ticket")
    buttons = "".join(
        f"<button role='tab' aria-controls='p{at}'>{tab}</button>" for at, tab in enumerate(tabs)
    )
    panels = "".join(f"<div id='p{at}'><p>{3 + at} euros a trip.</p></div>" for at in (0, 1))
    filling = "<p>" + "The lake has four piers and a yard. " * 12 + "</p>"
    path.write_text(f"<body><main><h1>Fees</h1>{filling}{buttons}{panels}</main></body>")
    document = read(path, "x.html")
    assert [document.text.count(tab) for tab in tabs] == [1, 1]
    for at, tab in enumerate(tabs):
        assert document.heading_at(document.text.index(f"{3 + at} euros")) == f"Fees > {tab}"
