"""The server: ``streamlit run app.py`` or ``python app.py``.

The dashboard's entry script is ``pages/frame.py`` and not this file: with a ``pages`` folder beside
the entry script, Streamlit would run a page without its frame when a fresh server is first asked
for that page's address.
"""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Warms up beside the first visitor, and hands unfinished jobs back at the end."""
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    yield
    from pages.components.shell import warm_up

    warm_up.stop()


def _warm_up() -> None:
    # Imported here, or the server would answer only after everything is imported.
    from pages.components.shell import warm_up

    warm_up.warm_up()


app = st.App(Path(__file__).resolve().parent / "pages" / "frame.py", lifespan=lifespan)

if __name__ == "__main__":
    app.run()
