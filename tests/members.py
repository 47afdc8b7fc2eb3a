"""A knowledge base with a member for each role, and what pages say to whoever looks."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from rag import ROLES, KnowledgeBase
from tests.handbook import LEAVE, make
from tests.people import signed_in, view


class World:
    """A knowledge base of Ann's with a member for each role, and a run, a turn and a job."""

    def __init__(self, home: Path) -> None:
        self.workspace, base = make(home)
        self.ann = signed_in(self.workspace, "ann")
        for role in ROLES:
            person = signed_in(self.workspace, role)
            base.access.add_member(person.email, role)
        signed_in(self.workspace, "stranger")
        view(self.workspace, signed_in(self.workspace, "ben")).create("mine", base.recipe())
        self.base: KnowledgeBase = view(self.workspace, self.ann).base("handbook")
        (leave,) = (
            each.id
            for each in base.documents.documents(base.recipe().index)
            if each.name == "leave.md"
        )
        base.questions.label(
            "questions", question_id="q1", document_id=leave, start=9, end=60, grade=1
        )
        job = self.base.runs.start_evaluation("questions", self.base.recipe())
        self.workspace.jobs.run(job)
        self.turn = self.base.conversations.ask(
            talk := self.base.conversations.open(None), LEAVE, self.base.recipe()
        )
        self.parameters = {
            "kb": "handbook",
            "talk": str(talk),
            "source": f"{self.turn}.1",
            "passage": "5d3f0c1b9a7e4d21",
            "run": self.base.runs.list_all()[0].id,
            "runs": self.base.runs.list_all()[0].id,
            "doc": self.base.documents.documents(self.base.recipe().index)[0].id,
            "document": self.base.documents.documents(self.base.recipe().index)[0].id,
            "set": "questions",
            "question": LEAVE,
        }


def said(app: AppTest) -> str:
    """Everything that a page says, also in tables and choices."""
    kinds = ("markdown", "caption", "error", "warning", "info", "title", "header", "dataframe")
    drawn = [str(getattr(each, "value", "")) for kind in kinds for each in app.get(kind)]
    options = [str(each.options) for each in app.selectbox]
    return "\n".join([*drawn, *options]).replace("\\", "")
