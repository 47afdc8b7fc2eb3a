"""Systems under test: list, add, try, delete. Evaluations measure them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request, Response
from pydantic import ConfigDict, Field, StringConstraints

from rag import (
    LONGEST_QUESTION,
    SYSTEM_FORMS,
    HttpSystem,
    InvalidInput,
    Made,
    SystemData,
    SystemTrialData,
    system_of,
)
from rag.api.resource import Base, Body, Maker, Page, Part, Resource, needs, where
from rag.api.threads import dear

_EXAMPLE: dict[str, Any] = {
    "name": "production",
    "form": "dify-external",
    "address": "https://search.example/v1",
}

systems = Resource("systems")

Name = Annotated[str, Path(description="the name of a system", max_length=40)]


class NewSystem(Body):
    """A system to add: the form of a known product at an address, or a whole definition."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str = Field(max_length=40)
    form: str = Field(
        "",
        max_length=40,
        description="dify-external, dify-dataset, openai, ragflow, touchstone, mcp",
    )
    address: str = Field("", max_length=2000, description="where the product runs")
    collection: str = Field("", max_length=200, description="its knowledge base or store, by id")
    key: str = Field(
        "", max_length=100, description="the environment variable of its key: TOUCHSTONE_TOOL_NAME"
    )
    most: int = Field(10, ge=1, le=100, description="results to ask for")
    definition: dict[str, Any] | None = Field(
        None, description="the fields of a request of any other form, as of an HTTP tool"
    )

    def parsed(self) -> HttpSystem:
        """The definition. Raises InvalidInput."""
        if self.definition is not None:
            return HttpSystem.parse({**self.definition, "name": self.name})
        if not (self.form and self.address):
            raise InvalidInput(
                "A system needs a form and an address, or a definition.",
                f"Send form ({', '.join(SYSTEM_FORMS)}) and address, or the fields of a request "
                "as definition.",
            )
        return system_of(self.form, self.name, self.address, self.collection, self.most, self.key)


class SystemQuestion(Body):
    """A question to try a system by."""

    question: Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)]


@systems.get("/knowledge-bases/{kb}/systems", **needs("read", 404))
def list_systems(request: Request, base: Base, part: Part) -> Page[SystemData]:
    """List the newest version of each system, by name."""
    return part.of(request, base.systems.list_all(), SystemData.of)


@systems.post(
    "/knowledge-bases/{kb}/systems",
    **needs("write", 400, 404, 409, 415, response_model=SystemData, status_code=201),
)
def add_system(request: Request, base: Base, body: NewSystem, idempotent: Maker) -> Response:
    """Add a system; another definition of a stored one becomes its next version."""

    def make() -> Made:
        stored = base.systems.add(body.parsed())
        place = where(request, "knowledge-bases", base.id, "systems", stored.name)
        return Made(201, SystemData.of(stored).dump(), place)

    return idempotent(body.model_dump(), make)


@systems.get("/knowledge-bases/{kb}/systems/{system}", **needs("read", 404))
def get_system(base: Base, system: Name) -> SystemData:
    """Return the newest version of a system."""
    return SystemData.of(base.systems.get(system))


@systems.post("/knowledge-bases/{kb}/systems/{system}/test", **needs("write", 400, 404, 415, 502))
@dear
def test_system(base: Base, system: Name, body: SystemQuestion) -> SystemTrialData:
    """Ask a system one question, and locate its results in the documents."""
    return SystemTrialData.of(base.systems.test(system, body.question))


@systems.delete("/knowledge-bases/{kb}/systems/{system}", **needs("write", 404, status_code=204))
def delete_system(base: Base, system: Name) -> Response:
    """Delete a system with its versions. Its runs stay."""
    base.systems.remove(system)
    return Response(status_code=204)
