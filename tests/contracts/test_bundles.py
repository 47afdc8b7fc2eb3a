"""A bundled run is repeated elsewhere to the last digit; what changed on the way is said."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rag import FROM_USERS, AlreadyExists, InvalidInput, Recipe, Workspace
from rag.__main__ import main
from tests.bundles import bundle, evaluated, parts_of, written
from tests.runs import DOCUMENTS, QUESTIONS, SET, WORDS
from tests.workspaces import QUICK, add, workspace_at


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    """The machine that bundles, with one run."""
    return evaluated(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    """Another machine."""
    return workspace_at(tmp_path / "there")


@pytest.mark.parametrize("recipe", [QUICK, WORDS], ids=["hybrid", "lexical"])
def test_another_machine_gets_every_figure_to_the_last_digit(here, there, tmp_path, recipe):
    base = here.base("handbook")
    run = base.runs.evaluate(SET, recipe, (1, 3, 10)).run
    base.runs.describe(run.id, note="the one we ship")
    here.bundle(run.id, tmp_path / "run.zip", with_documents=True)
    found = there.import_bundle(tmp_path / "run.zip")
    assert (found.exact, found.deviations, found.rankings_changed) == (True, (), 0)
    assert (found.base, found.question_set, found.rankings) == ("handbook", SET, 5)
    assert found.largest_score_gap == 0.0
    assert found.sentence.startswith("reproduced: all ")
    copy = there.base("handbook")
    again = copy.runs.get(found.run)
    assert (again.metrics, again.recipe, again.documents_hash) == (
        run.metrics,
        run.recipe,
        run.documents_hash,
    )
    assert found.figures == len(run.metrics) + sum(
        len(item.metrics) for item in copy.runs.results(found.run)
    )
    mine = [replace(item, tags=()) for item in base.runs.results(run.id)]
    assert [replace(item, tags=()) for item in copy.runs.results(found.run)] == mine


def test_a_run_without_users_questions_is_repeated_with_the_same_questions(here, there, tmp_path):
    base = here.base("handbook")
    asked = base.questions.collect(SET, "Which train do we take?", origin=FROM_USERS)
    base.questions.edit_question(SET, asked, answerable=False)
    run = base.runs.evaluate(SET, QUICK, (1, 3, 10), without_users=True).run
    assert base.runs.evaluate(SET, QUICK, (1, 3, 10)).run.questions == run.questions + 1
    here.bundle(run.id, tmp_path / "run.zip", with_documents=True)
    found = there.import_bundle(tmp_path / "run.zip")
    assert (found.exact, found.deviations, found.environment) == (True, (), {})
    copy = there.base("handbook")
    assert [each.question_id for each in copy.runs.results(found.run)] == [
        each.question_id for each in base.runs.results(run.id)
    ]


def test_documents_arrive_as_they_were(here, there, tmp_path):
    base = here.base("handbook")
    here.jobs.run(base.documents.add_text("A pasted note", "# Canteen\n\nLunch is at noon."))
    base.runs.evaluate(SET, QUICK)
    bundle(here, tmp_path / "run.zip")
    assert there.import_bundle(tmp_path / "run.zip", name="copy").exact
    copy = there.base("copy")
    for info in base.documents.documents(QUICK.index):
        assert copy.documents.document(info.id) == base.documents.document(info.id)
        mine, other = base.documents.original(info.id), copy.documents.original(info.id)
        assert mine.read_bytes() == other.read_bytes()


def test_documents_are_found_in_a_folder_by_content_under_any_name(here, there, tmp_path):
    bundle(here, tmp_path / "run.zip", with_documents=False)
    assert not any(name.startswith(("texts/", "files/")) for name in parts_of(tmp_path / "run.zip"))
    folder = tmp_path / "somewhere" / "deep"
    folder.mkdir(parents=True)
    for place, text in enumerate(DOCUMENTS.values()):
        (folder / f"{place}.dat").write_text(text)
    (folder / "decoy.md").write_text(DOCUMENTS["leave.md"].replace("29", "30"))
    found = there.import_bundle(tmp_path / "run.zip", documents=folder.parent)
    assert (found.exact, found.missing, found.read_differently) == (True, (), ())
    names = [info.name for info in there.base("handbook").documents.documents(QUICK.index)]
    assert names == sorted(DOCUMENTS)


def test_what_is_missing_is_listed_and_not_called_reproduced(here, there, tmp_path):
    bundle(here, tmp_path / "run.zip", with_documents=False)
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "leave.md").write_text(DOCUMENTS["leave.md"])
    found = there.import_bundle(tmp_path / "run.zip", documents=folder)
    assert (found.exact, found.missing) == (False, ("pump.txt", "travel.txt"))
    assert found.rankings_changed > 0
    assert "2 documents are missing" in found.sentence


def test_without_any_document_nothing_is_left_behind(here, there, tmp_path):
    bundle(here, tmp_path / "run.zip", with_documents=False)
    with pytest.raises(InvalidInput, match="None of the 3 documents") as caught:
        there.import_bundle(tmp_path / "run.zip")
    assert "--documents" in caught.value.hint
    assert there.bases() == []


def test_files_that_this_home_holds_already_need_not_be_named(here, tmp_path):
    bundle(here, tmp_path / "run.zip", with_documents=False)
    assert here.import_bundle(tmp_path / "run.zip", "copy").exact


def test_rows_of_a_collection_are_found_in_its_corpus(here, there, tmp_path):
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": name, "title": name, "text": text} for name, text in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "grinding noise"}))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tpump.txt\t1\n")
    base = here.create("tiny", QUICK)
    here.jobs.run(base.documents.import_beir(folder, "test"))
    run = base.runs.evaluate("tiny", QUICK, (1, 3)).run.id
    for number, with_documents in enumerate([True, False]):
        target = tmp_path / f"{number}.zip"
        here.bundle(run, target, with_documents=with_documents)
        found = there.import_bundle(target, f"copy {number}", None if with_documents else tmp_path)
        assert (found.exact, found.missing, found.read_differently) == (True, (), ())
    ids = [base.documents.documents(QUICK.index)[0].id]
    copy = there.base("copy 1").documents
    assert [copy.document(name) for name in ids] == [base.documents.document(name) for name in ids]


def test_the_same_run_gives_the_same_bytes(here, tmp_path):
    for name in ("one.zip", "two.zip"):
        run = here.base("handbook").runs.list_all()[0].id
        (tmp_path / "at").mkdir(exist_ok=True)
        here.bundle(run, tmp_path / "at" / "run.zip", with_documents=True)
        (tmp_path / "at" / "run.zip").rename(tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_run_whose_questions_or_documents_changed_is_not_bundled(here, tmp_path):
    base = here.base("handbook")
    first = base.runs.list_all()[0].id
    base.questions.add_question(SET, "Who pays for lunch?", answerable=False)
    with pytest.raises(InvalidInput, match="questions changed since run"):
        here.bundle(first, tmp_path / "run.zip")
    second = base.runs.evaluate(SET, QUICK).run.id
    add(here, base, {"canteen.txt": "Lunch is at noon."})
    with pytest.raises(InvalidInput, match="documents changed since run"):
        here.bundle(second, tmp_path / "run.zip")
    assert list(tmp_path.glob("*.zip*")) == []


def test_a_name_that_is_taken_is_refused_and_that_base_stays(here, tmp_path):
    bundle(here, tmp_path / "run.zip")
    before = here.bases()
    with pytest.raises(AlreadyExists):
        here.import_bundle(tmp_path / "run.zip")
    assert here.bases() == before


def test_a_figure_that_is_not_the_same_is_named(here, there, tmp_path):
    bundle(here, tmp_path / "run.zip")
    parts = parts_of(tmp_path / "run.zip")
    results = json.loads(parts["results.json"])
    real = results["per_question"][1]["metrics"]["mrr@10"]
    results["per_question"][1]["metrics"]["mrr@10"] = real + 1e-15
    parts["results.json"] = json.dumps(results).encode()
    found = there.import_bundle(written(tmp_path / "changed.zip", parts))
    (deviation,) = found.deviations
    assert (deviation.question, deviation.metric) == ("q2", "mrr@10")
    assert (deviation.expected, deviation.actual) == (real + 1e-15, real)
    assert (found.exact, found.rankings_changed) == (False, 0)
    assert found.sentence.startswith("not reproduced: 1 of ")


@pytest.mark.parametrize("tied", [True, False])
def test_only_passages_with_almost_one_score_may_change_places(here, there, tmp_path, tied):
    base = here.base("handbook")
    twins = {name: f"# {name}\n\nLeave is asked for in writing." for name in ("one.md", "two.md")}
    add(here, base, twins)
    base.runs.evaluate(SET, QUICK)
    bundle(here, tmp_path / "run.zip")
    parts = parts_of(tmp_path / "run.zip")
    results = json.loads(parts["results.json"])
    pairs = [
        (ranking, at)
        for ranking in (one["ranking"] for one in results["per_question"])
        for at in range(len(ranking) - 1)
        if (ranking[at][1] - ranking[at + 1][1] < 1e-9) == tied
    ]
    ranking, at = pairs[0]
    ranking[at], ranking[at + 1] = ranking[at + 1], ranking[at]
    parts["results.json"] = json.dumps(results).encode()
    found = there.import_bundle(written(tmp_path / "changed.zip", parts))
    assert found.rankings_changed == (not tied)


def test_the_parts_are_what_the_contract_says(here, tmp_path):
    run = bundle(here, tmp_path / "run.zip")
    parts = parts_of(tmp_path / "run.zip")
    assert Recipe.parse(json.loads(parts["recipe.json"])) == QUICK
    first = json.loads(parts["questions.jsonl"].splitlines()[0])
    assert first["evidence"][0]["quote"] == "carried over until 30 June"
    results = json.loads(parts["results.json"])
    stored = here.base("handbook").runs.get(run)
    assert (results["run"], results["metrics"]) == (run, stored.metrics)
    assert results["per_question"][0]["ranking"][0][0]
    documents = json.loads(parts["documents.json"])
    assert documents["hash"] == stored.documents_hash
    assert [(each["name"], each["bytes"]) for each in documents["documents"]] == [
        (name, len(text.encode())) for name, text in sorted(DOCUMENTS.items())
    ]
    assert json.loads(parts["environment.json"]) == {
        "format": 1,
        "made_with": dict(stored.environment),
    }


def test_one_question_is_reported_without_a_word_of_it_or_of_the_documents(here, tmp_path):
    base = here.base("handbook")
    recipe = WORDS.with_fields({"search.tags": ["payroll"], "search.heading": "Leave"})
    run = base.runs.evaluate(SET, recipe).run.id
    plain = base.runs.evaluate(SET, WORDS).run.id
    file, home = tmp_path / "question.json", str(here.settings.home)
    for run_id in (run, plain):
        assert main(["bundle", run_id, "--question", "q1", "-o", str(file), "--home", home]) == 0
        report = json.loads(file.read_text())
        asked = json.loads(QUESTIONS.splitlines()[0])["text"]
        words = set(re.findall(r"[a-z]{4,}", " ".join([asked, *DOCUMENTS.values()]).lower()))
        assert words.isdisjoint(re.findall(r"[a-z]{4,}", json.dumps(report["trace"]).lower()))
        assert "payroll" not in file.read_text()
    result = next(item for item in base.runs.results(plain) if item.question_id == "q1")
    assert report["ranking"] == [list(hit) for hit in result.ranking]
    assert report["metrics"] == dict(result.metrics)
    assert [hit["chunk_id"] for hit in report["trace"]["hits"]] == [
        key for key, _, _ in result.ranking[: WORDS.search.top_k]
    ]
    unknown = ["bundle", plain, "--question", "q99", "-o", str(file), "--home", home]
    assert main(unknown) == 2
    assert main([*unknown, "--with-documents"]) == 2
