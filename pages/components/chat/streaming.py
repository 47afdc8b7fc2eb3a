"""An answer on its way: pieces that may come slowly, and the question that stays in view.

Streamlit follows the end of a page with a field at its bottom, but stops for good if the page
grows just when the field gets the focus.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from queue import Empty, Queue

import streamlit as st

PAUSE = 0.25  # seconds


def unhurried(stream: Iterator[str], pause: float = PAUSE) -> Iterator[str]:
    """The pieces of ``stream``, and "" whenever none came for a while.

    A page can only be stopped while it draws: it draws something for every piece.
    """
    arrived: Queue[str | BaseException | None] = Queue()
    threading.Thread(target=_read, args=(stream, arrived), daemon=True).start()
    while True:
        try:
            piece = arrived.get(timeout=pause)
        except Empty:
            yield ""
            continue
        if piece is None:
            return
        if isinstance(piece, BaseException):
            raise piece
        yield piece


def _read(stream: Iterator[str], arrived: Queue[str | BaseException | None]) -> None:
    try:
        for piece in stream:
            arrived.put(piece)
    except BaseException as error:  # raised where the stream is read
        arrived.put(error)
    else:
        arrived.put(None)


_SCRIPT = """
const QUESTION = "[data-testid=stChatMessageContent][aria-label='Chat message from user']";
const AT_WORK = ["running", "rerunRequested"];
const LOOK = 50, QUIET = 400, HELD = 1000; // milliseconds
const isField = (node) => /^(INPUT|TEXTAREA)$/.test(node.tagName);
// How far the top of the newest question is below the header; negative where it is above.
const room = () => {
  const newest = [...document.querySelectorAll(QUESTION)].at(-1);
  const header = document.querySelector("[data-testid=stHeader]")?.getBoundingClientRect();
  return (newest?.parentElement.getBoundingClientRect().top ?? 0) - (header?.bottom ?? 0);
};
// Follows the end while the page grows, and then shows the question, too, if need be from its top.
const follow = (box) => {
  const left = new AbortController(), app = document.querySelector("[data-testid=stApp]");
  let height = 0, changed = Date.now(), held = 0;
  const look = () => {
    const now = Date.now(), below = box.scrollHeight - box.clientHeight - box.scrollTop;
    if (box.scrollHeight !== height || AT_WORK.includes(app?.dataset.testScriptState)) {
      [height, changed, held] = [box.scrollHeight, now, 0];
    }
    if (now - changed < QUIET) {
      if (below > 1) box.scrollTop += below;
      return;
    }
    const space = room();
    if (space < -1) box.scrollTop += space;
    else if (below > 1 && space > 1) box.scrollTop += Math.min(below, space);
    held ||= now;
    if (now - held > HELD) stop();
  };
  const timer = setInterval(look, LOOK);
  const stop = () => {
    clearInterval(timer);
    left.abort();
  };
  const own = { passive: true, signal: left.signal };
  for (const act of ["wheel", "touchmove", "pointerdown"]) box.addEventListener(act, stop, own);
  box.addEventListener("keydown", (event) => isField(event.target) || stop(), own);
  return stop;
};
export default function ({ parentElement, data }) {
  if (!data.asked || parentElement.asked === data.asked) return;
  parentElement.asked = data.asked;
  parentElement.stop?.();
  const box = document.querySelector("[data-testid=stAppScrollToBottomContainer]");
  if (box) parentElement.stop = follow(box);
}
"""
_follower = st.components.v2.component("newest_question", html="<span></span>", js=_SCRIPT)


def newest_in_view(*, asks: bool) -> None:
    """Show the question that this run answers, unless the reader scrolls away meanwhile."""
    _follower(key="chat_newest", height=1, data={"asked": uuid.uuid4().hex if asks else ""})
