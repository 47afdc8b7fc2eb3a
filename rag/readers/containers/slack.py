"""Days of channels in an export of Slack, as people read them."""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime

from rag.errors import UnreadableDocument
from rag.readers.records import parse_json

FILES = {"users.json", "channels.json"}
"""Files by which an export is known."""
_DAY = re.compile(r"(.+)/(\d{4}-\d{2}-\d{2})\.json")
_MARK = re.compile(r"<([@#!]?)([^<>|\n]*)(?:\|([^<>\n]*))?>")
_NEWS = {"channel_join", "channel_leave", "channel_topic", "channel_purpose", "bot_add"}


def people(archive: zipfile.ZipFile) -> dict[str, str]:
    """The names of users by their ids."""
    users = parse_json(archive.read("users.json").decode("utf-8", "replace"))
    named = dict[str, str]()
    for user in users if isinstance(users, list) else ():
        if isinstance(user, dict):
            profile = user.get("profile")
            shown = profile.get("display_name") if isinstance(profile, dict) else ""
            names = (shown, user.get("real_name"), user.get("name"))
            named[str(user.get("id"))] = next((str(name) for name in names if name), "")
    return named


def is_about(name: str) -> bool:
    """Whether a file of an export is about the workspace: users, channels, logs."""
    return "/" not in name and name.endswith(".json")


def is_day(name: str) -> bool:
    """Whether a file has the messages of a channel on a day."""
    return _DAY.fullmatch(name) is not None


def day(name: str, data: bytes, people: Mapping[str, str]) -> str:
    """The messages of a day as Markdown; a reply in a thread says so. "" for a damaged file."""
    try:
        messages = parse_json(data.decode("utf-8", "replace"))
    except UnreadableDocument:  # the other days are worth reading
        return ""
    match = _DAY.fullmatch(name)
    lines = [f"# {match[1]}, {match[2]}" if match else "# Messages"]
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("subtype") in _NEWS:
            continue
        thread, sent = message.get("thread_ts"), message.get("ts")
        words = _words(str(message.get("text") or ""), people)
        files = [file for file in message.get("files") or () if isinstance(file, dict)]
        words += "".join(f" [File: {file.get('name', '')}]" for file in files)
        if words.strip():
            who = people.get(str(message.get("user"))) or message.get("username") or "unknown"
            reply = " (reply)" if thread and thread != sent else ""
            lines.append(f"**{who}**, {_time(sent)}{reply}: {words}")
    return "\n\n".join(lines)


def _time(sent: object) -> str:
    try:
        return f"{datetime.fromtimestamp(float(str(sent)), UTC):%H:%M}"
    except (ValueError, OverflowError, OSError):
        return "?"


def _words(text: str, people: Mapping[str, str]) -> str:
    """The text of a message with names in place of ids."""

    def shown(mark: re.Match[str]) -> str:
        sign, target, label = mark[1], mark[2], mark[3]
        if sign == "@":
            return f"@{people.get(target) or label or target}"
        if sign:
            return f"{sign.replace('!', '@')}{label or target}"
        return f"{label} ({target})" if label and label not in target else target

    return html.unescape(_MARK.sub(shown, text))
