"""Services that are asked over HTTP, and whose results join those of the documents."""

from rag.http_tools.calling import Outcome, call
from rag.http_tools.definition import HttpTool
from rag.http_tools.results import Result

__all__ = ["HttpTool", "Outcome", "Result", "call"]
