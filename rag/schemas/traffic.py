"""Live traffic of other systems as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.schemas.schema import Schema, Timestamp


class TrafficSystemData(Schema):
    """The traffic of a system; a request is a trace, which can have several retrievals."""

    name: str = Field(description="the name of its service, `service.name`")
    retrievals: int
    requests: int
    questions: int = Field(description="different questions")
    first: Timestamp
    last: Timestamp
    multi_hop: int = Field(description="requests with several retrievals")
    mean_hops: float = Field(description="retrievals of such a request; 0 without any")
    redundant_calls: int = Field(description="retrievals of these that returned nothing new")
    has_text: bool


class TrafficQuestionData(Schema):
    """A question of a system; `text` is empty where text isn't stored."""

    text: str
    requests: int
    retrievals: int
    results: int = Field(description="results of the newest request")
    last: Timestamp
