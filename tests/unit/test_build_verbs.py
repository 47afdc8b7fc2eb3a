"""``builds`` and ``remove-build`` on the command line."""

from pathlib import Path

import pytest

from rag import KnowledgeBase
from rag.__main__ import main
from tests.runs import DOCUMENTS, WORDS, handbook
from tests.verbs import run_verb

OTHER = WORDS.with_fields({"index.chunk_size": 12})


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    workspace, base = handbook(home)
    workspace.jobs.run(base.documents.build(OTHER.index))
    return base


def test_a_build_is_deleted_by_the_beginning_of_its_id(base, capsys):
    code, told, _ = run_verb(capsys, "remove-build", "handbook", OTHER.index.hash[:6])
    assert (code, told) == (0, {"removed": OTHER.index.hash})
    assert [build.hash for build in base.documents.builds()] == [WORDS.index.hash]
    assert base.search("grinding noise", WORDS).hits
    assert len(base.documents.documents(WORDS.index)) == len(DOCUMENTS)


@pytest.mark.parametrize(
    ("build", "said", "hint"),
    [
        (WORDS.index.hash, "answers the questions now", "Save a recipe with another index first"),
        ("zzz", "No build of 'handbook' begins with 'zzz'", OTHER.index.hash),
        ("", "No build of 'handbook' begins with ''", WORDS.index.hash),
    ],
)
def test_what_cannot_be_deleted_stays_and_the_reason_is_told(base, capsys, build, said, hint):
    assert main(["remove-build", "handbook", build]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert hint in told.err
    assert len(base.documents.builds()) == 2


def test_a_beginning_that_several_share_is_refused(base, capsys):
    taken = {build.hash[0] for build in base.documents.builds()}
    sizes = iter(range(30, 200))
    while len(taken) == len(base.documents.builds()):
        recipe = WORDS.with_fields({"index.chunk_size": next(sizes)}).index
        base.documents.prepare_build(recipe)
        shared = recipe.hash[0]
        taken.add(shared)
    before = base.documents.builds()
    assert main(["remove-build", "handbook", shared]) == 2
    assert base.documents.builds() == before
