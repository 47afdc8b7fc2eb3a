"""Maps of builds: vectors as points, by principal components or by UMAP where it is installed.

They are kept as files that may be deleted, drawn by a job, and extended as documents come.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.operation import operation
from rag.recipe import IndexRecipe
from rag.retrieval.candidates import blocks, fetched_cosines
from rag.services.indexing.index import Index
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredIndexRecipe
from rag.services.services import Services
from rag.storage import documents
from rag.storage.files import sync_folder
from rag.types import Keys, Vectors

Method = Literal["pca", "umap"]
Points = npt.NDArray[np.float32]
"""Places on a map, shape (n, 2)."""

NEIGHBOURS = 5  # that say where a newcomer stands on a map that knows no formula
_BLOCK = 8192
_SEED = 7
_FEWEST = 10  # passages that UMAP needs to find neighbours among

UMAP_HINT = "Run: pip install -r requirements-umap.txt"

ProgressCallback = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False, slots=True)
class Projection:
    """Passages as points. ``axes`` (2, dimension) and ``mean`` (dimension,) place others alike.

    ``explained`` is the share of the vectors' variance that the map shows. UMAP has neither: its
    ``axes`` are empty and ``explained`` is 0.
    """

    method: Method
    keys: Keys
    points: Points
    mean: npt.NDArray[np.float32]
    axes: npt.NDArray[np.float32]
    explained: float

    def place(self, vectors: Vectors) -> Points:
        """Places of further vectors (n, dimension) by the formula. Only for "pca"."""
        return ((vectors - self.mean) @ self.axes.T).astype(np.float32)


def methods() -> tuple[Method, ...]:
    """The methods that this installation can compute."""
    return ("pca", "umap") if importlib.util.find_spec("umap") else ("pca",)


def project(
    method: Method, keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """Compute a map; ``vectors(keys)`` reads the vectors of some passages.

    Raises InvalidInput without passages, or for UMAP where it is not installed or has too few,
    and what ``on_progress`` raises.
    """
    if not len(keys):
        raise InvalidInput("There are no passages to draw.", "Add documents first.")
    return (
        _by_umap(keys, vectors, on_progress)
        if method == "umap"
        else _by_components(keys, vectors, on_progress)
    )


def _by_components(
    keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """Principal components (Pearson 1901) by the covariance, which is small however many rows."""
    total, count = 2 * len(keys), 0
    dimension = vectors(keys[:1]).shape[1]
    sums, products = np.zeros(dimension), np.zeros((dimension, dimension))
    for first in range(0, len(keys), _BLOCK):
        block = vectors(keys[first : first + _BLOCK]).astype(np.float64)
        sums += block.sum(axis=0)
        products += block.T @ block
        count += len(block)
        on_progress(count, total, f"{count:,} of {len(keys):,} passages read")
    mean = sums / len(keys)
    values, columns = np.linalg.eigh(products / len(keys) - np.outer(mean, mean))
    values = np.maximum(values, 0.0)
    axes = columns[:, [-1, -2]].T if dimension > 1 else np.array([[1.0], [0.0]])
    # An axis has no direction of its own; the same one every time keeps a map as it was.
    axes = axes * np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shared = values[-2:].sum() / values.sum() if values.sum() > 0 else 0.0
    nowhere = np.empty((0, 2), np.float32)
    single = mean.astype(np.float32), axes.astype(np.float32)
    drawn = Projection("pca", keys, nowhere, *single, float(shared))
    parts = []
    for first in range(0, len(keys), _BLOCK):
        parts.append(drawn.place(vectors(keys[first : first + _BLOCK])))
        count += len(parts[-1])
        on_progress(count, total, f"{count - len(keys):,} of {len(keys):,} passages placed")
    return replace(drawn, points=np.concatenate(parts))


def _by_umap(
    keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """UMAP (McInnes, Healy and Melville 2018) by its own library, with a fixed seed."""
    if len(keys) < _FEWEST:
        raise InvalidInput(f"UMAP needs {_FEWEST} passages or more.", "Use the PCA map.")
    try:
        import umap
    except ImportError as error:
        raise InvalidInput("UMAP is not installed.", UMAP_HINT) from error
    on_progress(0, 1, f"UMAP places {len(keys):,} passages; it cannot be stopped midway")
    maker = umap.UMAP(
        n_neighbors=min(15, len(keys) - 1), metric="cosine", random_state=_SEED, n_jobs=1
    )
    points = np.asarray(maker.fit_transform(vectors(keys)), np.float32)
    on_progress(1, 1, f"{len(keys):,} passages placed")
    nothing = np.empty(0, np.float32)
    return Projection("umap", keys, points, nothing, nothing.reshape(0, 0), 0.0)


def among(points: Points, cosines: npt.NDArray[np.float32]) -> Points:
    """A place among others: the mean of the nearest ones' by cosine (n,), shape (1, 2)."""
    nearest = np.argsort(-cosines, kind="stable")[:NEIGHBOURS]
    weights = np.maximum(cosines[nearest], 1e-6)
    return np.average(points[nearest], axis=0, weights=weights).astype(np.float32)[None, :]


log = logging.getLogger(__name__)

MOST_CHANGED = 0.2  # of the passages; a map that lacks more should be drawn anew
_ARRAYS = ("keys", "points", "mean", "axes")
_KEPT = 4  # maps in memory, of about 20 bytes a passage


@dataclass(frozen=True, eq=False, slots=True)
class PassageMap:
    """Passages as points: ``keys`` (n,), ``points`` (n, 2), ``document`` (n,) into ``names``.

    ``explained`` is the share of the variance shown (0 for UMAP), ``changed`` the share of the
    passages that came or went since it was drawn; those that came stand where the map puts them.
    """

    method: Method
    keys: Keys
    points: Points
    document: npt.NDArray[np.int32]
    names: tuple[str, ...]
    explained: float
    changed: float

    @property
    def outdated(self) -> bool:
        """Whether it should be drawn anew."""
        return self.changed > MOST_CHANGED


@dataclass(frozen=True, eq=False, slots=True)
class Placed:
    """A question on a map: its ``point`` (2,), and each passage's cosine to it (n,)."""

    point: Points
    cosines: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class PlacedQuestions:
    """Questions on a map: ``points`` (n, 2), and the nearest passage of each by its true cosine.

    ``nearest`` (n,) are positions in the passages of the map, -1 where none is left; ``cosines``
    (n,) are theirs.
    """

    points: Points
    nearest: npt.NDArray[np.int64]
    cosines: npt.NDArray[np.float32]


class MapFiles:
    """The maps of a home, as they were drawn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, base_id: int, build_hash: str, method: Method) -> Path:
        """Return the path of a map, which need not exist."""
        return self._folder / str(base_id) / f"{build_hash}-{method}.npz"

    def save(self, base_id: int, build_hash: str, drawn: Projection) -> None:
        """Write a map, whole or not at all."""
        target = self.path(base_id, build_hash, drawn.method)
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=".draft-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                arrays = {name: getattr(drawn, name) for name in _ARRAYS}
                np.savez(file, **arrays, explained=drawn.explained)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(target)
            sync_folder(target.parent)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise

    def load(self, base_id: int, build_hash: str, method: Method) -> Projection | None:
        """A map, or None where there is none, or one that cannot be read."""
        try:
            with np.load(self.path(base_id, build_hash, method)) as file:
                explained = float(file["explained"])
                keys, points, mean, axes = (file[name] for name in _ARRAYS)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
            # The checksums of the archive tell of every byte that matters.
            log.warning("The map of build %s is not used: %s. Draw it again.", build_hash, error)
            return None
        return Projection(method, keys, points, mean, axes, explained)

    def forget(self, base_id: int, build_hash: str | None = None) -> None:
        """Delete the maps of a build, or of a whole base."""
        folder = self._folder / str(base_id)
        if build_hash is None:
            shutil.rmtree(folder, ignore_errors=True)
        for path in folder.glob(f"{build_hash}-*.npz"):
            path.unlink(missing_ok=True)


class Maps:
    """The files of all maps, and the last maps in memory, up to the index of the moment."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.files = MapFiles(services.settings.home / "maps")
        self.drawn: OrderedDict[tuple[object, ...], PassageMap] = OrderedDict()
        self.lock = threading.Lock()


class Draw(Job[None]):
    """The drawing of the map of a build."""

    kind = "map"
    recipe: StoredIndexRecipe
    method: Method


class BaseMaps:
    """The maps of one knowledge base."""

    def __init__(self, maps: Maps, jobs: Jobs, base_id: int) -> None:
        self._services = maps.services
        self._files = maps.files
        self._maps = maps
        self._jobs = jobs
        self._base_id = base_id

    @property
    @operation("viewer")
    def methods(self) -> tuple[Method, ...]:
        """The projection methods that are available here."""
        return methods()

    @operation("viewer")
    def current(self, recipe: IndexRecipe, method: Method = "pca") -> PassageMap | None:
        """The map of a build with every passage of it, or None while none was drawn."""
        try:
            drawn_at = self._files.path(self._base_id, recipe.hash, method).stat().st_mtime_ns
        except OSError:
            return None
        index = self._services.indexes.current(self._base_id, recipe).embedded
        place = (self._base_id, recipe.hash, method, drawn_at, index.version)
        maps = self._maps
        with maps.lock:
            if place not in maps.drawn:
                drawn = self._files.load(self._base_id, recipe.hash, method)
                if drawn is None:
                    return None
                maps.drawn[place] = self._passage_map(index, drawn)
                while len(maps.drawn) > _KEPT:
                    maps.drawn.popitem(last=False)
            maps.drawn.move_to_end(place)
            return maps.drawn[place]

    @operation("viewer")
    def place(self, recipe: IndexRecipe, passage_map: PassageMap, question: str) -> Placed:
        """Return the position of a question on a map, and its cosine to every passage.

        Raises ProviderError.
        """
        index = self._services.indexes.current(self._base_id, recipe).embedded
        vector = self._services.models.embedder(recipe.embedder).embed([question], "query")
        cosines = np.zeros(len(passage_map.keys), np.float32)
        # What went since the map was made counts as far away.
        indexed = np.isin(passage_map.keys, index.passages)
        cosines[indexed] = fetched_cosines(vector[0], passage_map.keys[indexed], index.dense)
        drawn = self._files.load(self._base_id, recipe.hash, passage_map.method)
        if drawn is not None and len(drawn.axes):
            return Placed(drawn.place(vector)[0], cosines)
        return Placed(among(passage_map.points, cosines)[0], cosines)

    @operation("viewer")
    def place_questions(
        self, recipe: IndexRecipe, passage_map: PassageMap, questions: Sequence[str]
    ) -> PlacedQuestions:
        """Return the positions of questions on a map, in their order, with their nearest passages.

        Raises ProviderError.
        """
        index = self._services.indexes.current(self._base_id, recipe).embedded
        vectors = self._services.remembering(recipe.embedder).embed(questions, "query")
        drawn = self._files.load(self._base_id, recipe.hash, passage_map.method)
        place_of = {key: at for at, key in enumerate(passage_map.keys.tolist())}
        points = np.zeros((len(questions), 2), np.float32)
        nearest = np.full(len(questions), -1, np.int64)
        best = np.zeros(len(questions), np.float32)
        for number, vector in enumerate(vectors):
            keys, cosines = index.dense.search(vector, NEIGHBOURS)
            places = [place_of[key] for key in keys.tolist() if key in place_of]
            if places:
                nearest[number], best[number] = places[0], cosines[0]
            if drawn is not None and len(drawn.axes):
                points[number] = drawn.place(vector[None, :])[0]
            elif places:
                # As ``among`` does for one question: the middle of its nearest passages.
                points[number] = passage_map.points[places].mean(axis=0)
        return PlacedQuestions(points, nearest, best)

    @operation("viewer")
    def drawing(self, recipe: IndexRecipe, method: Method = "pca") -> JobRow | None:
        """The job that draws this map now, if any does."""
        job = self._jobs.latest(self._base_id, Draw, index=recipe.hash, method=method)
        return job if job is not None and job.active else None

    @operation("editor")
    def draw(self, recipe: IndexRecipe, method: Method = "pca") -> int:
        """Queue the drawing of a map; return the job, also where one is at it already.

        Raises InvalidInput for a method that is not installed.
        """
        if method not in methods():
            raise InvalidInput(
                "UMAP is not installed.", "Run: pip install -r requirements-umap.txt"
            )
        job = Draw(recipe=recipe, method=method, about={"index": recipe.hash, "method": method})
        return self._jobs.submit_once(self._base_id, f"Drawing the {method.upper()} map", job)

    def _passage_map(self, index: Index, drawn: Projection) -> PassageMap:
        drawn, changed = _extended(drawn, index)
        names = self._services.database.fetch(documents.names, self._base_id, list(index.keys))
        ids = [document_id for document_id in index.keys if len(index.keys[document_id])]
        flat = np.concatenate(
            [*(index.keys[document_id] for document_id in ids), np.empty(0, np.int64)]
        )
        numbers = np.repeat(
            np.arange(len(ids)), [len(index.keys[document_id]) for document_id in ids]
        )
        order = np.argsort(flat, kind="stable")
        document = numbers[order][np.searchsorted(flat[order], drawn.keys)].astype(np.int32)
        return PassageMap(
            drawn.method,
            drawn.keys,
            drawn.points,
            document,
            tuple(names.get(document_id, "") for document_id in ids),
            drawn.explained,
            changed,
        )


def draw_map(services: Services, files: MapFiles, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "map"; taken up again, it starts over, and the former map stays."""
    request = Draw.of(job)
    reporter.report(0, 0, "reading vectors")
    index = services.indexes.current(job.base_id, request.recipe).embedded
    keys = index.passages
    drawn = project(request.method, keys, index.dense.vectors, reporter.report)
    files.save(job.base_id, request.recipe.hash, drawn)
    return f"{len(keys):,} passages drawn"


def _extended(drawn: Projection, index: Index) -> tuple[Projection, float]:
    """A map without what is gone and with what came, and the share of both."""
    now = index.passages
    stays = np.isin(drawn.keys, now)
    new = now[~np.isin(now, drawn.keys)]
    changed = (int((~stays).sum()) + len(new)) / max(len(drawn.keys), 1)
    remaining = replace(drawn, keys=drawn.keys[stays], points=drawn.points[stays])
    if not len(new):
        return remaining, changed
    points = [remaining.points]
    for block in blocks(len(new)):
        vectors = index.dense.vectors(new[block])
        points.append(
            drawn.place(vectors) if len(drawn.axes) else _beside(remaining, index, vectors)
        )
    keys, places = np.concatenate([remaining.keys, new]), np.concatenate(points)
    return replace(remaining, keys=keys, points=places), changed


def _beside(projection: Projection, index: Index, vectors: Vectors) -> Points:
    """Places of newcomers among their nearest neighbours that are on the map already."""
    if not len(projection.keys):
        return np.zeros((len(vectors), 2), np.float32)
    cosines = np.empty((len(vectors), 0), np.float32)
    rows = np.empty((len(vectors), 0), np.int64)
    for block in blocks(len(projection.keys)):
        more = vectors @ index.dense.vectors(projection.keys[block]).T
        numbers = np.arange(block.start, block.start + more.shape[1])
        cosines = np.concatenate([cosines, more], axis=1)
        rows = np.concatenate([rows, np.broadcast_to(numbers, more.shape)], axis=1)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
        cosines = np.take_along_axis(cosines, best, axis=1)
        rows = np.take_along_axis(rows, best, axis=1)
    nearest = zip(rows, cosines, strict=True)
    return np.concatenate([among(projection.points[row], cosine) for row, cosine in nearest])
