"""The tables of all rooms of storage together, for those who look at a database as a whole."""

from rag.storage.access.audit import audit_entry
from rag.storage.access.links import share_link, tour
from rag.storage.access.people import sign_in
from rag.storage.access.tokens import agent_call, api_reply, api_token
from rag.storage.conversations.sessions import turn
from rag.storage.leases import lease
from rag.storage.passage_edits import passage_edit
from rag.storage.quality.answers import judgement
from rag.storage.quality.decisions import decision, settlement
from rag.storage.registries import language_model, prompt_text, recipe_name, system, tool
from rag.storage.tables import metadata

_ACCESS = (agent_call, api_reply, api_token, audit_entry, share_link, sign_in)
_QUALITY = (decision, judgement, settlement)
_OTHERS = (language_model, prompt_text, recipe_name, system, tool, tour, turn)
for table in (*_ACCESS, *_QUALITY, lease, passage_edit, *_OTHERS):
    assert table.metadata is metadata

__all__ = ["metadata"]
