"""Services that are asked over HTTP, and whose results join those of the documents."""

from rag.providers.http_tools.calling import ToolOutcome as ToolOutcome
from rag.providers.http_tools.calling import answer_of as answer_of
from rag.providers.http_tools.calling import call as call
from rag.providers.http_tools.definition import HttpTool as HttpTool
from rag.providers.http_tools.definition import Path as Path
from rag.providers.http_tools.definition import ToolResult as ToolResult
