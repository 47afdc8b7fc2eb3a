"""Whether a question is on topic: one decision, apart from any ranking.

A threshold asks every passage; this asks once for a question. What it looks at depends on the
documents, the embedder and the question alone, not on how a recipe ranks: so a question has one
probability in every mode, at every depth, in a search as in a sweep.
"""

from rag.retrieval.topic.evidence import TopicEvidence, topic_evidence
from rag.retrieval.topic.model import Topic, TopicModel, shipped
from rag.retrieval.topic.teaching import FEATURES, taught

__all__ = [
    "FEATURES",
    "Topic",
    "TopicEvidence",
    "TopicModel",
    "shipped",
    "taught",
    "topic_evidence",
]
