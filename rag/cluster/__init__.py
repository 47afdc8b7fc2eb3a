"""Bulk reading and embedding by the workers of a Dask cluster.

They are sent values (the bytes of a file, texts) and send values back (a document, vectors). The
process of the job alone writes, in the transactions that it has without a cluster: a worker that
dies takes nothing with it, and what it did is done by another one. What the cluster cannot do is
done in the process of the job, which says so.
"""

from rag.cluster.cluster import Cluster, require
from rag.cluster.embedding import SpreadEmbedder, spread
from rag.cluster.reading import ReadingAhead, StoredFile, is_sent

__all__ = [
    "Cluster",
    "ReadingAhead",
    "SpreadEmbedder",
    "StoredFile",
    "is_sent",
    "require",
    "spread",
]
