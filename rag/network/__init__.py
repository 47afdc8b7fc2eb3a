"""Requests to addresses that users name, without becoming a way into the network we run in.

Knows nothing of documents or tools: what reads pages and what asks services both rest on it.
"""
