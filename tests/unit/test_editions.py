"""Editions of a document: which names belong together, which is newest, where they differ."""

import gc
import weakref

import pytest

from rag.answering import Vocabulary
from rag.answering.assessing.dates import applies_from, valid_from
from rag.answering.assessing.editions import (
    are_editions,
    day_of,
    differ,
    edition_date,
    family,
    may_supersede,
    moment_of,
    on_one_matter,
    repeats,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("leave-policy-2024.pdf", "leave-policy-2026.pdf"),
        ("Travel_Policy_v1.docx", "Travel Policy v2.docx"),
        ("price list 2025-03.csv", "price list 2026-01-15.csv"),
        ("Handbook (1).pdf", "Handbook (2).pdf"),
        ("handbook.pdf", "handbook-old.pdf"),
        ("meeting-rooms-2024.md", "meeting-rooms-2025.md"),
        ("Protocolo de seguridad 2023.pdf", "Protocolo de seguridad 2024.pdf"),
        ("newsletter-policy-2023.md", "newsletter-policy-2024.md"),
        ("会议室管理规定2023.md", "会议室管理规定2024.md"),
        ("policy v1.markdown", "policy v2.markdown"),
        ("https://example.com/leave-2024", "https://example.com/leave-2026"),
        ("Fee schedule 2024-25.pdf", "Fee schedule 2025-26.pdf"),
        ("competition_rules_v1.9_2025.pdf", "competition_rules_v1.11_2026.pdf"),
        ("Reporting guidelines 2023.md", "Reporting guidelines 2024.md"),
        ("report-policy-2023.md", "report-policy-2024.md"),
        ("privacy-statement-2024.md", "privacy-statement-2026.md"),
        ("statement-of-work-2024.md", "statement-of-work-2026.md"),
        ("how-to-file-expense-reports-2024.md", "how-to-file-expense-reports-2026.md"),
        ("annual-report-2023-draft.pdf", "annual-report-2023-approved.pdf"),
        ("Jahresbericht 2023 Entwurf.pdf", "Jahresbericht 2023.pdf"),
        ("minutes 2024-03-01 v1.md", "minutes 2024-03-01 v2.md"),
    ],
)
def test_editions_differ_in_year_version_or_status(one, other):
    assert are_editions(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("application-note-17.md", "application-note-22.md"),
        ("boreal-u400-manual.pdf", "boreal-u700-manual.pdf"),
        ("leave-policy-2024.pdf", "travel-policy-2026.pdf"),
        ("2024.pdf", "2025.pdf"),
        ("leave-policy-2024.pdf", "leave-policy-2024.pdf"),
        ("board-minutes-2026-01-02.md", "board-minutes-2026-01-16.md"),
        ("Protokoll 2025-03.docx", "Protokoll 2025-04.docx"),
        ("TSC meeting 2019-01-02.md", "TSC meeting 2019-01-16.md"),
        ("meeting-notes-2025-01-02.md", "meeting-notes-2025-01-16.md"),
        ("jahresprotokoll-2023.md", "jahresprotokoll-2024.md"),
        ("2024年会议纪要.pdf", "2025年会议纪要.pdf"),
        ("https://docs.example.com/api#errors", "https://docs.example.com/guide"),
        ("Annual report 2023.pdf", "Annual report 2024.pdf"),
        ("Federation_annual_report_2023_approved.pdf", "Federation_annual_report_2024_final.pdf"),
        ("Minutes 2024-2025.pdf", "Minutes 2025-2026.pdf"),
        ("Minutes of the board 2024.md", "Minutes of the board 2025.md"),
        ("report-q1-2024.pdf", "report-q1-2025.pdf"),
        ("Financial statement 2023.pdf", "Financial statement 2024.pdf"),
        ("2024_Budget.xlsx", "2025_Budget.xlsx"),
        ("Newsletter March 2024.md", "Newsletter March 2025.md"),
        ("Jahresbericht_2023.pdf", "Jahresbericht_2024.pdf"),
        ("Haushaltsplan 2024.pdf", "Haushaltsplan 2025.pdf"),
        ("Informe anual 2023.pdf", "Informe anual 2024.pdf"),
        ("Memoria de actividades 2023.pdf", "Memoria de actividades 2024.pdf"),
        ("Presupuesto 2023.xlsx", "Presupuesto 2024.xlsx"),
        ("ordinance-2023-45.pdf", "ordinance-2023-46.pdf"),
        ("financial-statements-2024.pdf", "financial-statements-2025.pdf"),
    ],
)
def test_other_documents_are_no_editions(one, other):
    assert not are_editions(one, other)


def test_the_newest_edition_comes_last():
    names = ["plan-2026-01.pdf", "plan-2024.pdf", "plan-2025-12-31.pdf"]
    assert sorted(names, key=lambda name: edition_date(name).order) == [
        "plan-2024.pdf",
        "plan-2025-12-31.pdf",
        "plan-2026-01.pdf",
    ]
    assert edition_date("Policy v10.pdf").is_newer_than(edition_date("Policy v9.pdf"))
    assert [day_of(name) for name in names] == ["2026-01", "2024", "2025-12-31"]
    assert family("Leave_Policy-2026.pdf") == "leave policy"
    assert edition_date("rules_v1.11_2026.pdf").version == (1, 11)


def test_the_date_that_a_text_states_tells_which_edition_is_newer():
    new = edition_date("rules.md", "Valid from 1 March 2026. It replaces that of 15 January 2024.")
    old = edition_date("rules-2024.md", "Valid from 15 January 2024.")
    assert new.is_newer_than(old)
    assert not old.is_newer_than(new)
    assert (new.day, old.day) == ("2026-03-01", "2024-01-15")


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("pension_2026-03.md", "We match the allowances as of May 2022.", "2026-03"),
        ("leave-2026.pdf", "Leave policy. Version of 1 March 2026.", "2026-03-01"),
        ("leave-2025-11.pdf", "Valid from 1 January 2026.", "2026-01-01"),
        ("leave-2026.pdf", f"Leave. {'Words. ' * 80}The bonus applies from 1 May 2022.", "2026"),
        ("pension.md", "# Pension, March 2026\n\nAllowances as of May 2022.", "2026-03"),
        ("pension.md", "# Report on the plan for 2024\n\nUpdated May 2022.", "2022-05"),
        ("pension.md", "We match the allowances as of May 2022.", "2022-05"),
    ],
)
def test_the_date_in_a_name_or_title_counts_before_one_in_running_text(name, text, day):
    assert edition_date(name, text).day == day


def test_a_date_of_one_edition_alone_does_not_tell_which_is_newer():
    dated, undated = edition_date("rules-2024.md"), edition_date("rules.md", "Nothing here.")
    assert not dated.is_newer_than(undated)
    assert not undated.is_newer_than(dated)


def test_a_year_is_not_newer_than_a_day_of_it():
    year, day = edition_date("rules-2024.md"), edition_date("rules.md", "Valid from 2024-03-01")
    assert not year.is_newer_than(day)
    assert not day.is_newer_than(year)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Valid from 1 March 2026.", "2026-03-01"),
        ("Effective date: March 1, 2026", "2026-03-01"),
        ("Gültig ab 01.03.2026", "2026-03-01"),
        ("Stand: März 2025", "2025-03"),
        ("En vigueur depuis le 1er mars 2026", "2026-03-01"),
        ("Vigente desde el 1 de marzo de 2026", "2026-03-01"),
        ("Действует с 1 марта 2026", "2026-03-01"),
        ("本规定自2026年3月1日起施行", "2026-03-01"),
        ("Last updated 03/04/2025", "2025"),
        ("Version 2.1, 12 May 2025\n\nValid from 1 June 2025", "2025-06-01"),
        ("Valid until 31 December 2026", ""),
        ("This edition replaces the rules of 15 January 2024.", ""),
        ("The result is valid. In 2019 we repeated it.", ""),
        ("Valid from 2026-13-45", "2026"),
        ("Signed on 3 February 2025", ""),
        ("Valid from 2026-06-31", ""),
        ("Gültig ab 29.02.2026", ""),
        ("x" * 4000 + " Valid from 1 March 2026.", ""),
    ],
)
def test_a_document_states_from_when_it_applies(text, day):
    assert edition_date("rules.md", text).stated == day


@pytest.mark.parametrize(
    "text",
    [
        "This policy is no longer in force as of 1 January 2026.",
        "Not valid after 2026-03-31",
        "Valid after a check for 2026",
        "No longer valid since 1 March 2026",
        "The rules aren't effective from 1 March 2026.",
        "It ceases to apply and is valid for orders of 2020.",
        "Valid for orders of 2020",
        "Nicht mehr gültig seit 01.03.2026",
        "Gilt nicht mehr ab 01.03.2026",
        "Gültig für Bestellungen 2020",
        "N'est plus en vigueur depuis le 1er mars 2026",
        "Ya no es válido desde el 1 de marzo de 2026",
        "Больше не действует с 1 марта 2026",
        "本规定自2026年3月1日起废止",
    ],
)
def test_the_end_of_validity_is_not_its_beginning(text):
    assert edition_date("rules.md", text).stated == ""


def test_a_negation_of_another_clause_does_not_count():
    text = "This does not cover trips, valid from 1 March 2026. No longer valid since 2030."
    assert edition_date("rules.md", text).stated == "2026-03-01"


@pytest.mark.parametrize(
    ("question", "moment"),
    [
        ("What was the fee in March 2025?", "2025-03"),
        ("Was kostete es im März 2025?", "2025-03"),
        ("What was the fee on June 3, 2024?", "2024-06-03"),
        ("Wie hoch war der Beitrag am 3. Juni 2024?", "2024-06-03"),
        ("What was the fee in 2025?", "2025"),
        ("What was the fee in APRİL 2025?", "2025"),
        ("What is the fee?", ""),
    ],
)
def test_a_question_is_about_a_day_a_month_or_a_year(question, moment):
    assert moment_of(question) == moment


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("OTA_2018_-_Ord._12754.pdf", "ord-12621-ota-2017.pdf", True),
        ("Fees 3 March 2024 (final).pdf", "draft fees 12 2023.pdf", True),
        ("contract-anna-2022.md", "contract-bert-2025.md", False),
        ("contract-1017.md", "contract-1042.md", False),
        ("bylaw-aldham-2019.md", "bylaw-2023.md", False),
        ("12754-2018.pdf", "12621-2017.pdf", False),
        ("c16-manual-2018.pdf", "manual-c17-2019.pdf", False),
    ],
)
def test_texts_alone_supersede_nothing(one, other, *, may):
    assert may_supersede(one, other) is may
    assert may_supersede(other, one) is may


class _Text(str):
    """A text that can tell whether it is still kept."""


@pytest.mark.parametrize("read", [valid_from, applies_from])
def test_texts_of_documents_are_not_kept(read):
    text = _Text("Valid from 1 March 2026. The fee is 1.50 EUR.")
    kept = weakref.ref(text)
    assert read(text)
    del text
    gc.collect()
    assert kept() is None


def test_statements_differ_by_their_figures_alone():
    assert differ("29 days of annual leave", "27 days of annual leave")
    assert differ("until 30 June", "until 30 March")
    assert not differ("29 days of annual leave", "annual leave: 29 days")


@pytest.mark.parametrize(
    ("text", "statement", "has"),
    [
        ("Staff get **5 days** of leave per month.", "5 days of leave", True),
        ("Staff get 2.5 days of leave per month.", "5 days of leave", False),
        ("Store the samples at -18 degrees.", "18 degrees", False),
        ("Fifteen days of leave.", "teen days", False),
    ],
)
def test_a_text_repeats_a_statement_with_its_figures(text, statement, has):
    assert repeats(text, statement) is has


def test_statements_on_one_matter_share_their_words():
    terms = Vocabulary().terms
    new = terms("Everybody who works five days a week has 29 days of annual leave per year.")
    old = terms("Employees on a five-day week have 27 days of annual leave per year.")
    assert on_one_matter(new, old)
    assert not on_one_matter(new, terms("A certificate is needed from day 4 of illness."))


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        ("员工每年享有25天带薪年假。", "员工每年享有20天带薪年假。", True),
        ("14tägige Kündigungsfrist", "30tägige Kündigungsfrist", True),
        ("within 48hours", "within 72hours", True),
        ("37signals pays 6%", "Basecamp pays 6%", False),
    ],
)
def test_figures_with_a_unit_behind_them_count_and_names_do_not(one, other, different):
    assert differ(one, other) is different
