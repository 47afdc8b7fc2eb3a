"""Search by words: BM25 with parameters at search time, explanations and cheap updates."""

from rag.lexical.analyzers import Analyzer as Analyzer
from rag.lexical.analyzers import analyzer as analyzer
from rag.lexical.analyzers import analyzer_names as analyzer_names
from rag.lexical.analyzers import function_words as function_words
from rag.lexical.clauses import Bm25Options as Bm25Options
from rag.lexical.clauses import Query as Query
from rag.lexical.clauses import Variants as Variants
from rag.lexical.clauses import inverse_document_frequency as inverse_document_frequency
from rag.lexical.explain import Explanation as Explanation
from rag.lexical.explain import TermMatch as TermMatch
from rag.lexical.follow_ups import complete_follow_up as complete_follow_up
from rag.lexical.follow_ups import leans_on_another as leans_on_another
from rag.lexical.index import IDF_MASS as IDF_MASS
from rag.lexical.index import LexicalIndex as LexicalIndex
from rag.lexical.index import term_weights as term_weights
from rag.lexical.index import word_shares as word_shares
from rag.lexical.postings import Postings as Postings
from rag.lexical.respelling import Respelling as Respelling
from rag.lexical.respelling import respellings as respellings
from rag.lexical.spelling import Correction as Correction
from rag.lexical.spelling import Meant as Meant
from rag.lexical.synonyms import OtherForm as OtherForm
from rag.lexical.synonyms import synonyms as synonyms
