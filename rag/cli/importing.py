"""What is told of an import of questions."""

from __future__ import annotations

from rag import Imported, KnowledgeBase, QuestionSet, counted
from rag.cli.lost_labels import lost_data, lost_lines
from rag.cli.printing import Output


def imported(base: KnowledgeBase, found: QuestionSet, came: Imported | None = None) -> Output:
    lost = base.questions.lost_labels(found.name)
    number = len(base.documents.documents(base.recipe().index))
    data = {
        "knowledge_base": base.name,
        "documents": number,
        "set": found.name,
        "questions": found.questions,
        "lost_labels": lost_data(lost),
        "skipped": list(came.skipped) if came else [],
        "unused_columns": list(came.unused) if came else [],
    }
    asked = counted(found.questions, "question")
    text = f"{asked} in {found.name!r}, {counted(number, 'document')}"
    lines = [text, *lost_lines(lost)]
    if came and came.skipped:
        lines += [f"skipped {counted(len(came.skipped), 'line')}:"]
        lines += [f"  {problem}" for problem in came.skipped]
    if came and came.unused:
        lines.append(f"columns that are not used: {', '.join(came.unused)}")
    return Output(data, "\n".join(lines))
