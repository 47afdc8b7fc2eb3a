"""Retrievers in Python that return the rankings of ``tests.ranked_texts``."""

from typing import Any

from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.retrievers import BaseRetriever as LlamaIndexBaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from tests.ranked_texts import ranking


class LangChainRetriever(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(id=item.id, page_content=item.text, metadata={"source": item.document})
            for item in ranking(query)
        ]


class LlamaIndexRetriever(LlamaIndexBaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=item.id, text=item.text, metadata={"file_name": item.document}),
                score=item.score,
            )
            for item in ranking(query_bundle.query_str)
        ]


@component
class HaystackRetriever:
    @component.output_types(documents=list[HaystackDocument])
    def run(self, query: str) -> dict[str, list[HaystackDocument]]:
        return {
            "documents": [
                HaystackDocument(
                    id=item.id,
                    content=item.text,
                    meta={"file_path": item.document},
                    score=item.score,
                )
                for item in ranking(query)
            ]
        }


langchain = LangChainRetriever()
llama_index = LlamaIndexRetriever()
haystack = HaystackRetriever()
_pipeline = Pipeline()
_pipeline.add_component("retriever", HaystackRetriever())


def haystack_pipeline(question: str) -> dict[str, Any]:
    return _pipeline.run({"retriever": {"query": question}})


def texts(question: str) -> list[str]:
    return [item.text for item in ranking(question)]


def scored_texts(question: str) -> list[tuple[str, float, dict[str, str]]]:
    return [(item.text, item.score, {"source": item.document}) for item in ranking(question)]
