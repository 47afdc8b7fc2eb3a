"""Notes under an answer about sentences without support or source."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.text import plain
from pages.components.shell.wording import shortened
from rag import SentenceCheck, Turn, counted

_SHOWN = 4
_LONGEST = 140  # characters of a sentence


def sentence_notes(turn: Turn) -> None:
    """Name the sentences without support or source, each with its reasons; nothing where all is
    supported."""
    doubted = [check for check in turn.sentences if not check.borne_out]
    if not doubted:
        return
    checked = counted(len(turn.sentences), "sentence")
    st.caption(
        f":orange[:material/warning:] **{len(doubted)} of {checked} "
        f"{'is' if len(doubted) == 1 else 'are'} not supported by what is cited:**\n"
        + "\n".join(_line(turn, check) for check in doubted[:_SHOWN])
        + (f"\n- and {len(doubted) - _SHOWN} more" if len(doubted) > _SHOWN else "")
    )


def _line(turn: Turn, check: SentenceCheck) -> str:
    sentence = shortened(" ".join(turn.answer[check.start : check.end].split()), _LONGEST)
    return f"- “{plain(sentence)}”: {plain('; '.join(check.reasons))}"
