"""httpx over a connection pool that only connects to checked addresses."""

from __future__ import annotations

from collections.abc import Iterator

import httpcore
import httpx

from rag.network.addresses import CheckedBackend


class CheckedTransport(httpx.BaseTransport):
    """A transport that sends requests through a CheckedBackend. Raises what that raises,
    untranslated.
    """

    def __init__(self, *, allow_private: bool, deadline: float) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            network_backend=CheckedBackend(allow_private=allow_private, deadline=deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, one response; redirects are the caller's business."""
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Stream(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Stream(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
