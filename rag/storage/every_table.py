"""The tables of all rooms of storage together, for those who look at a database as a whole."""

from rag.storage.access.agent_calls import agent_call
from rag.storage.access.audit import audit_entry
from rag.storage.access.links import share_link
from rag.storage.access.replies import api_reply
from rag.storage.access.sign_ins import sign_in
from rag.storage.access.tokens import api_token
from rag.storage.access.tours import tour
from rag.storage.conversations.prompt_texts import prompt_text
from rag.storage.conversations.tables import turn
from rag.storage.language_models import language_model
from rag.storage.leases import lease
from rag.storage.passage_edits import passage_edit
from rag.storage.quality.decisions import decision
from rag.storage.quality.settlements import settlement
from rag.storage.quality.systems import system
from rag.storage.quality.tables import judgement
from rag.storage.recipe_names import recipe_name
from rag.storage.tables import metadata
from rag.storage.tools import tool

_ACCESS = (agent_call, api_reply, api_token, audit_entry, share_link, sign_in)
_QUALITY = (decision, judgement, settlement)
_OTHERS = (language_model, prompt_text, recipe_name, system, tool, tour, turn)
for table in (*_ACCESS, *_QUALITY, lease, passage_edit, *_OTHERS):
    assert table.metadata is metadata

__all__ = ["metadata"]
