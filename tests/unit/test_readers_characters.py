"""Encodings, and the one normalisation that offsets refer to."""

import codecs
import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import UnreadableDocument
from rag.readers.characters import decode, normalise, normalised_parts

GERMAN = "Die Größe der Straße, für alle Übungen: äöü ÄÖÜ ß. Natürlich auch später noch schön.\n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\x00b\x07c\x1fd\x7fe", "abcde"),
        ("a\tb", "a\tb"),
        ("page\fnext\vline\x85end", "page\nnext\nline\nend"),
        ("\ufeffstart", "start"),
        ("cafe\u0301", "caf\u00e9"),
        ("x\ud800y\udfffz", "xyz"),
        ("  two  spaces\n\n\n\nstay ", "  two  spaces\n\n\n\nstay "),
        ("x\u00b2 ﬁn", "x\u00b2 ﬁn"),
        ("", ""),
    ],
)
def test_normalise(raw, expected):
    assert normalise(raw) == expected


@given(st.text(st.characters(codec=None)))
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "\r" not in once
    assert "\0" not in once
    once.encode()


@given(st.text(), st.text())
def test_blocks_joined_by_newlines_stay_normalised(first, second):
    joined = f"{normalise(first)}\n\n{normalise(second).strip()}"
    assert normalise(joined) == joined.lstrip("\ufeff")


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-32-le", codecs.BOM_UTF32_LE),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
    ],
)
def test_unicode_encodings(encoding, mark):
    assert decode(mark + GERMAN.encode(encoding)) == (GERMAN, {"encoding": encoding})


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN * 3, "cp1252"),
        ("Le règlement s'applique à tous ; l'été, la taxe s'élève à 24,50 €.", "cp1252"),
        ("Não é permitido lançar lixo na água. Os cães devem andar com trela.", "cp1252"),
        ("Vierassataman säännöt: veneet kiinnitetään laituriin.", "cp1252"),
        ("Båtplatser för gäster kostar 300 kronor.", "cp1252"),
        ("Référence;Libellé;Délai\n123;Clé à molette;3 à 4 jours", "cp1252"),
        ("“Daily” – the café’s price is 5 €", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("Usługa;Cena\nWymiana opon;120 zł\nPrzegląd;260 zł", "cp1250"),
        ("Zażółć gęślą jaźń, proszę bardzo", "iso8859_2"),
        ("Ziyaretçi bağlama ücreti günlük 300 liradır.", "cp1254"),
        ("Съешь же ещё этих мягких французских булок, да выпей чаю.", "cp1251"),
        ("Правила гавани: стоянка лодки стоит семьсот рублей.", "koi8_r"),
        ("Η τιμή είναι δέκα ευρώ την ημέρα", "cp1253"),
        ("המחיר הוא עשרה שקלים ליום", "cp1255"),
        ("السعر عشرة دنانير في اليوم", "cp1256"),
        ("Règlement du port. Le café est fermé en février.", "mac_roman"),
        ("いろはにほへと ちりぬるを わかよたれそ つねならむ。", "cp932"),
        ("港口规则：每天十元", "gb2312"),
        ("รายการ;ราคา;เริ่มใช้\nผ้าเช็ดตัว;52;มีนาคม", "cp874"),
        ("產品名稱;價格;有效期\n毛巾;五元", "big5"),
        ("항구 규칙: 하루 만원입니다", "cp949"),
    ],
)
def test_legacy_encodings_are_guessed(text, encoding):
    assert decode(text.encode(encoding)) == (text, {"encoding": encoding, "encoding_guessed": "1"})


def test_the_telling_bytes_may_come_late():
    text = "plain words, nothing else. " * 10_000 + GERMAN
    assert decode(text.encode("cp1252"))[0] == text


def test_a_declared_encoding_is_believed():
    assert decode("żółw".encode("iso8859-2"), "ISO-8859-2") == ("żółw", {"encoding": "iso8859-2"})
    assert decode("żółw".encode(), "ISO-8859-2") == ("żółw", {"encoding": "utf-8"})


def test_a_few_spoilt_bytes_do_not_change_the_encoding():
    spoilt = (GERMAN * 10).encode() + b"\xff end"
    text, about = decode(spoilt)
    assert (text, about["encoding"]) == (GERMAN * 10 + "\ufffd end", "utf-8")


def test_binary_data_is_refused():
    with pytest.raises(UnreadableDocument) as caught:
        decode(bytes(range(256)) * 20)
    assert caught.value.reason == "wrong_extension"


@given(
    st.text(alphabet="aé\u0301\u0308e \r\n\ufeff\x00\u2028가\u11a8", max_size=60),
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
)
def test_normalising_in_parts_is_normalising_at_once(text, sizes):
    pieces, start = [], 0
    for size in itertools.cycle(sizes):
        if start >= len(text):
            break
        pieces.append(text[start : start + size])
        start += size
    expected = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    expected = unicodedata.normalize("NFC", expected.lstrip("\ufeff"))
    assert "".join(normalised_parts(pieces)) == expected
