"""The least role for everything that a knowledge base can do. What is not listed, nobody may do.

A name is that of a method of ``KnowledgeBase``, or of one of its parts behind the part's name.
"""

from __future__ import annotations

from collections.abc import Mapping

from rag.access.roles import ROLES

_TABLE: Mapping[str, Mapping[str, str]] = {
    "": {
        "guest": "answer ask count_tokens outline part prompt recipe score_contributions search "
        "spelled state threshold unranked version word_finder explain_words filter_digest id name",
        "viewer": "compare documents_hash explain saved_recipes",
        "editor": "save_recipe",
    },
    "additions": {"viewer": "amount document seconds"},
    "answer_evaluations": {"guest": "answers latest", "editor": "start"},
    "arena": {"viewer": "add every find get summaries vote"},
    "conversations": {
        "guest": "ask conclude delete find history keep named open rate recent rename show turns",
        "viewer": "export",
    },
    "documents": {
        "guest": "builds by_words chunks document documents missing page sizes spans original "
        "labels_on vector_index",
        "viewer": "preview",
        "editor": "add_files add_text add_urls build build_several delete_build delete_documents "
        "prepare_build tag",
    },
    "documents.again": {"viewer": "outdated", "editor": "queue"},
    "estimates": {"guest": "open_hits"},
    "evaluations": {"guest": "alike latest", "editor": "start"},
    "evaluator": {"guest": "judge queries questions", "editor": "evaluate measure"},
    "exchange": {
        "viewer": "export_beir export_run export_run_qrels export_text holds_judgements table",
        "labeller": "import_file",
    },
    "gate": {"viewer": "check"},
    "judgements": {"guest": "latest", "editor": "start"},
    "judging_queue": {"viewer": "ordered"},
    "labels": {"labeller": "label mark_unanswerable remove_label set_grade"},
    "links": {"owner": "create every revoke"},
    "locked_files": {"viewer": "every", "editor": "leave_out open"},
    "maps": {"viewer": "current drawing methods place", "editor": "draw"},
    "members": {"viewer": "every", "owner": "add change remove"},
    "memory": {
        "guest": "count examples get record scope",
        "viewer": "correct delete every search",
    },
    "memory_trials": {"viewer": "effect jobs", "editor": "start"},
    "operations": {"viewer": "turns"},
    "passage_edits": {"viewer": "find lost of", "editor": "add remove"},
    "passage_labels": {"guest": "asked of", "labeller": "collect grade grade_words remove"},
    "pooling": {"guest": "difference"},
    "preferences": {"guest": "between latest", "editor": "start"},
    "prompts": {"guest": "wording versions changes", "editor": "reset save"},
    "proposals": {"viewer": "every", "labeller": "accept reject request"},
    "question_edits": {
        "labeller": "add_question collect create_set delete_questions delete_set edit_question "
        "rename_set save_table set_split"
    },
    "questions": {
        "guest": "every groups named usable split tried labelled lost_labels",
        "viewer": "export kept_versions",
        "labeller": "add_judgements restore_version save",
    },
    "rankings": {"guest": "side_by_side"},
    "recipe_names": {"guest": "given of", "editor": "give"},
    "reports": {"guest": "html"},
    "reviews": {
        "guest": "explain opened",
        "labeller": "dismiss export figures labelled waiting",
    },
    "run_figures": {"guest": "by_tag intervals plan unjudged"},
    "runs": {
        "guest": "baseline changes compare differences every get leaderboard paired regressions "
        "results spent",
        "editor": "pin remove set_note set_tags unpin",
    },
    "tuning": {"viewer": "judged state sweeper tuner", "editor": "sweep"},
    "tuning.build_table": {"viewer": "rows"},
    "tuning.build_tables": {"viewer": "latest result", "editor": "start"},
    "tuning.calibrator": {
        "guest": "fitted",
        "viewer": "labelled threshold_curve",
        "editor": "fit",
    },
    "tuning.fits": {"viewer": "latest", "editor": "start"},
    "tuning.searches": {"viewer": "latest result", "editor": "start"},
}

_WITH_BASES: Mapping[str, str] = {
    "bundle": "viewer",
    "cancel": "editor",
    "delete": "owner",
    "duplicate": "owner",
    "rename": "editor",
}

REQUIRED_ROLES: Mapping[str, str] = {
    f"{part}.{name}".lstrip("."): role
    for part, roles in _TABLE.items()
    for role, names in roles.items()
    for name in names.split()
}
"""The least role by path."""


def required_role(path: str) -> str:
    """The least role for a path of ``LEAST``, or for what a workspace does with a whole base."""
    return _WITH_BASES[path] if path in _WITH_BASES else REQUIRED_ROLES[path]


def refusal(role: str, least: str) -> str:
    """Return the message for a role that is below the required role."""
    mine = f"as {role}" if role in ROLES else "with this link"
    return f"You may not do this {mine}: it takes the role {least}."


ANSWERS = frozenset({"answer", "ask"})
"""What has a recipe answer, and not only search."""

_NO_MODEL = (
    "conversations.ask count_tokens explain_words filter_digest prompt recipe_names.of "
    "score_contributions spelled state threshold tuning.state word_finder"
)
ASKS_NO_MODEL = frozenset(_NO_MODEL.split())
"""What takes a recipe and asks none of its models: who may not spend may have it of any recipe."""

ASK = "Ask an owner of the knowledge base."

FILES_ONLY = frozenset(
    {"documents.add_paths", "documents.import_beir", "exchange.import_folder"},
)
"""What reads the server's own files: for whoever has these anyway, on the command line."""

_KINDS: Mapping[str, str] = {
    "documents": "documents.add_files documents.add_text documents.add_urls documents.build "
    "documents.build_several documents.delete_build documents.delete_documents documents.tag "
    "documents.again.queue passage_edits.add passage_edits.remove locked_files.leave_out "
    "locked_files.open",
    "labels": "exchange.import_file labels.label labels.mark_unanswerable labels.remove_label "
    "labels.set_grade passage_labels.collect passage_labels.grade passage_labels.grade_words "
    "passage_labels.remove proposals.accept proposals.reject proposals.request "
    "question_edits.add_question question_edits.collect question_edits.create_set "
    "question_edits.delete_questions question_edits.delete_set question_edits.edit_question "
    "question_edits.rename_set question_edits.save_table question_edits.set_split "
    "questions.add_judgements questions.restore_version questions.save",
    "recipe": "save_recipe prompts.reset prompts.save recipe_names.give",
    "evaluation": "evaluations.start evaluator.evaluate answer_evaluations.start judgements.start "
    "memory_trials.start preferences.start "
    "runs.pin runs.remove runs.set_note runs.set_tags runs.unpin tuning.sweep "
    "tuning.build_tables.start tuning.calibrator.fit tuning.fits.start tuning.searches.start",
    "members": "members.add members.change members.remove",
    "sharing": "links.create links.revoke",
    "conversation": "conversations.delete conversations.rename memory.correct memory.delete",
    "search": "search part compare explain",
    "ask": "ask answer",
    "export": "conversations.export exchange.export_beir exchange.export_run "
    "exchange.export_run_qrels exchange.export_text questions.export reports.html reviews.export",
}

AUDITED: Mapping[str, str] = {
    path: kind for kind, paths in _KINDS.items() for path in paths.split()
}
"""What the audit log keeps, and as what kind."""

_TOLD = (
    "documents.add_urls documents.delete_build documents.delete_documents documents.tag "
    "exchange.export_text exchange.export_beir exchange.export_run "
    "exchange.export_run_qrels evaluations.start links.create links.revoke members.add "
    "members.change members.remove question_edits.create_set question_edits.delete_set "
    "question_edits.rename_set questions.export questions.restore_version reports.html runs.pin "
    "runs.remove prompts.reset"
)
AUDITED_ARGUMENTS: Mapping[str, int | None] = {
    **dict.fromkeys(_TOLD.split()),
    "exchange.import_file": 2,
    "prompts.save": 1,
}
"""Where arguments are names, which the log keeps too: the first so many, None for all of them;
never texts or questions."""
