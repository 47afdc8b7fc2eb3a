"""Guided tours of a knowledge base: list, read, delete."""

from __future__ import annotations

from fastapi import Request, Response

from rag import Schema, Timestamp, TourStop
from rag.api.resource import Base, Page, Part, Resource, RowId, needs

tours = Resource("tours")


class TourData(Schema):
    """A tour with its stops in order."""

    id: int
    title: str
    changed: Timestamp
    stops: tuple[TourStop, ...]


@tours.get("/knowledge-bases/{kb}/tours", **needs("read", 404))
def list_tours(request: Request, base: Base, part: Part) -> Page[TourData]:
    """List the tours of a knowledge base, the one changed last first."""
    return part.of(request, base.tours.list_tours(), TourData.of)


@tours.get("/knowledge-bases/{kb}/tours/{tour}", **needs("read", 404))
def get_tour(base: Base, tour: RowId) -> TourData:
    """Return one tour."""
    return TourData.of(base.tours.get(tour))


@tours.delete("/knowledge-bases/{kb}/tours/{tour}", **needs("admin", 404, status_code=204))
def delete_tour(base: Base, tour: RowId) -> Response:
    """Delete a tour. Links to it then show no tour."""
    base.tours.delete(tour)
    return Response(status_code=204)
