"""Tokens of Google Cloud, by the credentials that its own tools find on this machine."""

from __future__ import annotations

import threading
from typing import Any

from rag.errors import ProviderRejected, ProviderUnavailable
from rag.providers.endpoint import import_required

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_lock = threading.Lock()
_credentials: list[Any] = []


def google_token() -> str:
    """A token that is valid now; fetched anew when it runs out.

    Raises MissingDependency without the package google-auth, ProviderRejected without credentials,
    ProviderUnavailable.
    """
    auth, web = import_required("google.auth"), import_required("google.auth.transport.requests")
    failures = import_required("google.auth.exceptions")
    with _lock:
        try:
            if not _credentials:
                _credentials.append(auth.default(scopes=[_SCOPE])[0])
            credentials = _credentials[0]
            if not credentials.valid:
                credentials.refresh(web.Request())
        except failures.TransportError as error:
            raise ProviderUnavailable(
                "Google's sign-in does not answer.", "Check the connection to the internet."
            ) from error
        except failures.GoogleAuthError as error:
            raise ProviderRejected(
                "There are no credentials for Google Cloud.",
                "Run: gcloud auth application-default login, or name a service account's file in "
                "GOOGLE_APPLICATION_CREDENTIALS.",
            ) from error
        return str(credentials.token)
