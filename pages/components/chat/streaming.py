"""An answer on its way: pieces that may come slowly, and the place that stays in view.

Streamlit follows the end of a page with a field at its bottom, but stops for good if the page
grows just when the field gets the focus.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from queue import Empty, Queue
from typing import Literal

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
const SOURCE = ".st-key-chat_source";
const AT_WORK = ["running", "rerunRequested"];
const LOOK = 50, QUIET = 400, HELD = 1000; // milliseconds
const SEEN = 250; // pixels of a source that show that it is there
const isField = (node) => /^(INPUT|TEXTAREA)$/.test(node.tagName);
const header = () => document.querySelector("[data-testid=stHeader]")?.getBoundingClientRect();
// How far the top of an element is below the header; negative where it is above.
const room = (node) => (node?.getBoundingClientRect().top ?? 0) - (header()?.bottom ?? 0);
// Follows the end while the page grows, and then shows the question, too, if need be from its top.
const showQuestion = (box, grows) => {
  const below = box.scrollHeight - box.clientHeight - box.scrollTop;
  if (grows) {
    if (below > 1) box.scrollTop += below;
    return;
  }
  const space = room([...document.querySelectorAll(QUESTION)].at(-1)?.parentElement);
  if (space < -1) box.scrollTop += space;
  else if (below > 1 && space > 1) box.scrollTop += Math.min(below, space);
};
// On a narrow screen it is below the answer, on a wide one beside its top.
const showSource = (box) => {
  const source = document.querySelector(SOURCE), edges = source?.getBoundingClientRect();
  if (!edges) return;
  const field = document.querySelector("[data-testid=stBottom]")?.getBoundingClientRect();
  const [first, last] = [header()?.bottom ?? 0, field?.top ?? innerHeight];
  const seen = Math.min(edges.bottom, last) - Math.max(edges.top, first);
  if (seen < Math.min(edges.height, SEEN)) box.scrollTop += room(source);
};
// Shows something until it stayed for a while, or the reader scrolls.
const follow = (box, show) => {
  const left = new AbortController(), app = document.querySelector("[data-testid=stApp]");
  let height = 0, changed = Date.now(), held = 0;
  const look = () => {
    const now = Date.now();
    if (box.scrollHeight !== height || AT_WORK.includes(app?.dataset.testScriptState)) {
      [height, changed, held] = [box.scrollHeight, now, 0];
    }
    const grows = now - changed < QUIET;
    show(box, grows);
    if (grows) return;
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
  if (!data.shown || parentElement.token === data.token) return;
  parentElement.token = data.token;
  parentElement.stop?.();
  const box = document.querySelector("[data-testid=stAppScrollToBottomContainer]");
  const show = data.shown === "source" ? showSource : showQuestion;
  if (box) parentElement.stop = follow(box, show);
}
"""
_scroller = st.components.v2.component("scrolls_in_chat", html="<span></span>", js=_SCRIPT)


def scroll_to(shown: Literal["question", "source", ""]) -> None:
    """Show the question that this run answers, or the source that a click opened.

    A reader who scrolls away meanwhile is left there.
    """
    _scroller(key="chat_scrolled", height=1, data={"shown": shown, "token": uuid.uuid4().hex})
