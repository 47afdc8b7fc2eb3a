"""An MCP server on standard input and output that answers in a form of its own."""

import json
import os
import sys
import time

TEXTS = {
    "leave.md": "Unused leave may be carried over until the end of March.",
    "cats.md": "Cats purr.",
}
PAGES = f"""## [Leave](leave.md)
{TEXTS["leave.md"]}

## [Cats](cats.md)
### Purr
"""
HITS = [{"path": "leave.md", "snippet": TEXTS["leave.md"], "score": 3.5}, {"path": "cats.md"}]
ANSWERS = {
    "find": lambda given: [json.dumps({"matches": HITS[: given.get("limit", 2)]})],
    "pages": lambda _: [PAGES],
    "parts": lambda _: list(TEXTS.values()),
    "open": lambda given: [TEXTS[given["path"]]],
    "environment": lambda _: [json.dumps(sorted(os.environ.items()))],
}


def main() -> None:
    if "--broken" in sys.argv:
        sys.exit("It needs a licence.")
    sys.stdout.write("A line of a log, which is no message.\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x"}}
        if message["method"] == "tools/call":
            name, given = message["params"]["name"], message["params"]["arguments"]
            if name == "sleep":
                time.sleep(60)
            while name == "chatter":
                sys.stdout.write("{}\n" * 100_000)
            texts = ANSWERS[name](given)
            result = {"content": [{"type": "text", "text": text} for text in texts]}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
