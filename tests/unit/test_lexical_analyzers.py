"""How text is cut into terms, language by language."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer

from rag import InvalidRecipe
from rag.lexical import analyzer, analyzer_names


@pytest.mark.parametrize(
    ("name", "text", "terms"),
    [
        ("simple", "The Café, RUNNING!", ["the", "café", "running"]),
        ("english", "The dog's running; dogs ran", ["the", "dog", "run", "dog", "ran"]),
        ("english", "naïve Café ﬁle", ["naiv", "cafe", "file"]),
        ("german", "Straße Häuser München Muenchen", ["strass", "haus", "munch", "munch"]),
        ("french", "L'élève qu’il l’eau", ["elev", "il", "eau"]),
        ("italian", "dell'acqua", ["acqua"]),
        ("spanish", "año ano", ["año", "ano"]),
        ("swedish", "får far", ["får", "far"]),
        ("turkish", "IŞIK ışık", ["ışık", "ışık"]),
        ("multilingual", "東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("multilingual", "iPhone手机 犬", ["iphone", "手机", "犬"]),
        ("multilingual", "ภาษา", ["ภา", "าษ", "ษา"]),
        ("multilingual", "हिन्दी में", ["हिन्दी", "में"]),
        ("multilingual", "co\u00adoperate", ["cooperate"]),
        ("english", "", []),
        ("english", "… — !?", []),
    ],
)
def test_terms(name, text, terms):
    assert analyzer(name).tokens(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("TX-4410-B", ["tx", "4410", "b", "tx4410b"]),
        ("v2.3.1", ["v2", "3", "1", "2.3.1"]),
        ("ERR_0x1F", ["err", "0x1f", "err0x1f"]),
        ("max_tokens", ["max", "token", "maxtokens"]),
        ("1.5", ["1", "5", "1.5"]),
        ("2020-11-21", ["2020", "11", "21", "2020-11-21"]),
        ("well-known", ["well", "known"]),
    ],
)
def test_codes_are_terms_whole_and_in_parts(text, terms):
    assert analyzer("english").tokens(text) == terms


@pytest.mark.parametrize(
    ("name", "question", "terms"),
    [
        ("english", "What is the IT policy?", ["it", "polici"]),
        ("english", "WHAT IS THE POLICY", ["polici"]),
        ("english", "What doesn't it do with tokens?", ["token"]),
        ("english", "to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("german", "Wie hoch ist die Miete?", ["hoch", "miet"]),
        ("multilingual", "what is it", ["what", "is", "it"]),
    ],
)
def test_questions_lose_function_words(name, question, terms):
    assert analyzer(name).query_tokens(question) == terms


def test_spans_name_the_characters_of_each_term():
    text = "See ERR_0x1F, 東京タ."
    found = [(term, text[start:end]) for term, start, end in analyzer("english").spans(text)]
    assert found == [
        ("see", "See"),
        ("err", "ERR"),
        ("0x1f", "0x1F"),
        ("err0x1f", "ERR_0x1F"),
        ("東京", "東京"),
        ("京タ", "京タ"),
    ]


def test_every_snowball_language_has_a_row():
    assert set(analyzer_names()) == {*Stemmer.algorithms(), "simple", "multilingual", "auto"}


def test_an_unknown_name_is_refused_with_the_choices():
    with pytest.raises(InvalidRecipe, match="klingon") as caught:
        analyzer("klingon")
    assert "german" in caught.value.hint


def test_threads_share_an_analyzer():
    words = [f"{stem}{ending}" for stem in ("connect", "relat", "walk") for ending in ("ed", "ing")]
    texts = [" ".join(f"{word}{'s' * i}" for word in words) for i in range(200)]
    shared = analyzer("english")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.tokens, texts * 4))
    alone = analyzer("english")
    assert found == [alone.tokens(text) for text in texts] * 4
