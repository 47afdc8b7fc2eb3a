"""Web pages whose markup is not valid, or that hold in lists what Markdown cannot hold there."""

from pathlib import Path

import pytest

from rag import Document
from rag.readers import read
from tests.sample_files import PROSE, html, put

LONG = f"<p>{PROSE} {PROSE} {PROSE}</p>"


def page(folder: Path, markup: str, start: str = LONG) -> Document:
    return read(put(folder, html(f"<main><h1>Relay</h1>{start}{markup}</main>")), "x.html")


def rest(document: Document) -> str:
    """The text behind the long paragraph."""
    return document.text.rpartition(PROSE.strip())[2].strip()


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<li>Alpha item</li> <li>Beta item</li>", "- Alpha item\n- Beta item"),
        ("<div><li>Alpha item</li></div>Tail.", "- Alpha item\n\nTail."),
        ("<dt>Term</dt><dd>Meaning</dd>", "- Term: Meaning"),
        ("<tr><td>Fee</td><td>12</td></tr><tr><td>Tax</td><td>3</td></tr>", "Fee\t12\nTax\t3"),
        ("<td>A cell alone</td>", "A cell alone"),
        ("<section>Bare words.</section>", "Bare words."),
        (
            "<section><h2>Sub</h2>Bare <b>bold</b> words.</section>",
            "## Sub\n\nBare **bold** words.",
        ),
        ("<center>In the middle.</center>", "In the middle."),
        ("<menu><li>In a menu</li></menu>", "- In a menu"),
        ("<details><summary>Why?</summary>Because.</details>", "## Why?\n\nBecause."),
        ("<fieldset><legend>Fees</legend>Nine euros.</fieldset>", "Fees\n\nNine euros."),
        ("<figure><img src=x><figcaption>The pump.</figcaption></figure>", "The pump."),
        ("<p>From <time>1 May 2026</time> on.</p>", "From 1 May 2026 on."),
        ("<p>The <label>blue</label> one says <q>no</q> today.</p>", "The blue one says no today."),
        ("<p>Press <button>Save</button> now.</p>", "Press Save now."),
        ("<h3><button>Who pays?</button></h3><p>We do.</p>", "### Who pays?\n\nWe do."),
        ("<button>Who pays for it?</button><div>We do.</div>", "###### Who pays for it?\n\nWe do."),
        ("<button>Menu</button><p>Words.</p>", "Words."),
        ("<p>Press <b><button>Save</button></b> now.</p>", "Press **Save** now."),
        ("<button>Accept all cookies now</button><p>Words.</p>", "Words."),
        ("<p>Words.</p><div><button>Add to shopping basket</button></div>", "Words."),
        ("<div><button>Copy code to clipboard</button></div><p>Words.</p>", "Words."),
        ("<p>Words.</p><p><button>Edit</button> <button>Delete</button></p>", "Words."),
        ("<ul><li><p>Lid</p><button>Compare it</button></li></ul>", "- Lid"),
        ("<h3>Fees <button>Copy link</button></h3><p>Nine.</p>", "### Fees\n\nNine."),
        ("<button aria-haspopup=true aria-expanded>Share this page</button><p>Hm.</p>", "Hm."),
        (
            "<table><tr><th>Part</th><th>Do</th></tr><tr><td>Lid</td>"
            "<td><button>Edit</button><button>Copy</button><button>Delete</button></td></tr></table>",
            "Part\tDo\nLid",
        ),
        (
            "<div><button aria-expanded=false>Opening hours in May</button>"
            "<div class=panel>From nine to five.</div></div>",
            "###### Opening hours in May\n\nFrom nine to five.",
        ),
        (
            "<h3><button aria-expanded=false>Fees</button></h3><div>Nine euros.</div><p>Hm.</p>",
            "### Fees\n\nNine euros.\n\nHm.",
        ),
        (
            "<div><button aria-controls=x>How long is it open?</button></div><p>All day.</p>",
            "###### How long is it open?\n\nAll day.",
        ),
        (
            "<dl><dt>timeout</dt><dd><code>30</code> by default</dd></dl>",
            "- timeout: `30` by default",
        ),
        ("<dl><dt>Kind/ Child:</dt><dd>3 euros</dd></dl>", "- Kind/ Child: 3 euros"),
        ("<p>Now <math><mi>x</mi><mo>=</mo><mn>42</mn></math> holds.</p>", "Now x = 42 holds."),
        ("<p>See <a href=y>rules</a><!-- note --> of May.</p>", "See rules of May."),
        ("One line.<br>Another line.", "One line.\n\nAnother line."),
    ],
)
def test_what_a_browser_shows_is_read(tmp_path, markup, text):
    document = page(tmp_path, markup)
    assert rest(document) == text
    assert "unread_text" not in document.metadata


def test_a_page_keeps_its_day_where_a_time_element_has_it(tmp_path):
    stated = '<p>Published <time datetime="2024-05-01" pubdate>1 May 2024</time></p>'
    assert page(tmp_path, stated).metadata["date"] == "2024-05-01"


NOTE = "Two people are needed to lift the lid of this pump out of its frame safely."
TABLE = "<table><tr><th>Part</th><th>Fee</th></tr><tr><td>Lid</td><td>12</td></tr></table>"


@pytest.mark.parametrize(
    ("items", "text"),
    [
        (
            f"<li>Look it up.{TABLE}</li><li>Pay.</li>",
            "1. Look it up.\n\nPart\tFee\nLid\t12\n\n2. Pay.",
        ),
        (
            f"<li><p>Look.</p>{TABLE}Then go on.</li><li>Pay.</li>",
            "1. Look.\n\nPart\tFee\nLid\t12\n\nThen go on.\n\n2. Pay.",
        ),
        (
            "<li>Run:<pre><code>run --all\nstop</code></pre></li><li>Wait.</li><li>Go.</li>",
            "1. Run:\n\n```\nrun --all\nstop\n```\n2. Wait.\n3. Go.",
        ),
        (
            "<li><h2>Open</h2><p>Lift it.</p></li><li><h2>Close</h2><p>Let go.</p></li>",
            "## 1. Open\n\nLift it.\n\n## 2. Close\n\nLet go.",
        ),
        (
            f"<li>Outer.<ul><li>Inner.{TABLE}</li><li>Last.</li></ul></li><li>Pay.</li>",
            "1. Outer.\n  - Inner.\n\nPart\tFee\nLid\t12\n\n- Last.\n\n2. Pay.",
        ),
        (
            "<li>Add this:<pre>a = 1</pre>Save and restart.</li><li>Pay.</li>",
            "1. Add this:\n\na = 1\n\nSave and restart.\n\n2. Pay.",
        ),
        (
            "<li><h4>Fees</h4>£5 a day</li><li><h4>Hours</h4>9 to 5</li>",
            "#### 1. Fees\n\n£5 a day\n\n#### 2. Hours\n\n9 to 5",
        ),
        (f"<li>Open it.{TABLE}Fee: £5.</li>", "1. Open it.\n\nPart\tFee\nLid\t12\n\nFee: £5."),
        (
            f"<li>Run:<pre>a</pre>Then read <a href=m>the manual</a>, {NOTE}<pre>b</pre>"
            "<a href=n>Further notes</a></li><li>Pay.</li>",
            f"1. Run:\n\na\n\nThen read the manual, {NOTE}\n\nb\n\nFurther notes\n\n2. Pay.",
        ),
        (
            "<li>Out.<ul><li>In:<pre>a</pre>behind it</li></ul>and last</li><li>Pay.</li>",
            "1. Out.\n  - In:\n\na\n\nbehind it\n\nand last\n\n2. Pay.",
        ),
        (
            "<li><div>Run:<pre>a</pre>Then <b>go</b></div>on</li><li>Pay.</li>",
            "1. Run:\n\na\n\nThen **go**\n\non\n\n2. Pay.",
        ),
        (
            "<li><code>git pull</code> gets it.</li><li><p><code>git push</code> sends.</p></li>",
            "1. `git pull` gets it.\n2. `git push` sends.",
        ),
        ("<li><div>One.</div><div>Two.</div></li><li>Pay.</li>", "1. One. Two.\n2. Pay."),
        ("<li><p>One.</p><p>Two.</p></li><li>Pay.</li>", "1. One. Two.\n2. Pay."),
        ("<li>One.<ol><li>In.</li></ol></li><li>Pay.</li>", "1. One.\n  1. In.\n2. Pay."),
    ],
)
def test_items_keep_their_number_and_their_blocks(tmp_path, items, text):
    document = page(tmp_path, f"<ol>{items}</ol>")
    assert rest(document) == text
    assert "unread_text" not in document.metadata
    assert [table.labels for table in document.tables] == [("Part", "Fee")] * ("table" in items)


def test_a_short_page_numbers_its_items_too(tmp_path):
    items = "<ol><li><p>Look.</p><p>Twice.</p></li><li>Pay.</li></ol>"
    assert page(tmp_path, items, "").text == "Relay\n\n1. Look.\n\nTwice.\n\n2. Pay."
    code = "<ol><li>Run:<pre>if ready:\n    go()</pre></li><li>Pay.</li></ol>"
    shown = "Relay\n\n1. Run:\n\nif ready:\n    go()\n\n2. Pay."
    assert page(tmp_path, code, "").text == shown


BESIDE = (
    "<ul><li><a href=a>All pumps of this site</a></li></ul><nav>Home and all of that</nav>"
    "<div style='display: none'>Nobody can see these words.</div>"
)


def test_what_is_left_out_of_a_page_is_said(tmp_path):
    assert "unread_text" not in page(tmp_path, BESIDE).metadata
    document = page(tmp_path, f"{BESIDE}<div class=caption>{NOTE}</div>")
    assert document.metadata["unread_text"] == (
        "Two people are needed to lift the lid of this pump out …"
    )
