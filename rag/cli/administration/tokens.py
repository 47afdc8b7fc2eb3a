"""The verb for tokens of the API."""

from __future__ import annotations

import argparse

from rag import BUDGETS, InvalidInput, TokenData, TokenRow, VerbData
from rag.cli import inputs
from rag.cli.printing import Output


class TokensData(VerbData):
    """The tokens of the API."""

    tokens: list[TokenData]


class RevokedTokenData(VerbData):
    """The id of a revoked token."""

    revoked: str


class CreatedTokenData(VerbData, TokenData):
    """A new token with its secret."""

    token: str


def token(args: argparse.Namespace) -> Output:
    access = inputs.workspace(args).access
    tokens = access.tokens
    if args.action == "list":
        rows = tokens.list_all()
        lines = [_line(row) for row in rows]
        data = TokensData(tokens=[TokenData.of(row) for row in rows])
        return Output(data, "\n".join(lines) or "No token yet.")
    if not args.name:
        raise InvalidInput(
            "Specify the token.",
            "Give a name after create, or an id after revoke. `token list` shows the ids.",
        )
    if args.action == "revoke":
        tokens.revoke(args.name)
        return Output(RevokedTokenData(revoked=args.name), f"revoked {args.name}")
    days = None if args.forever else args.days
    owner = access.people.by_email(args.owner).id if args.owner else ""
    limits = {name: getattr(args, f"most_{name}") for name in BUDGETS}
    budget = {name: most for name, most in limits.items() if most is not None}
    secret, row = tokens.create(args.name, args.scope or ["read"], days, owner, budget)
    text = f"{secret}\n\nThis is shown once. {_line(row)}"
    return Output(TokenData.of(row).extend(CreatedTokenData, token=secret), text)


def _line(row: TokenRow) -> str:
    if row.revoked:
        state = f"revoked {row.revoked:%Y-%m-%d}"
    else:
        verb = "valid until" if row.valid else "expired"
        state = f"{verb} {row.expires:%Y-%m-%d}" if row.expires else "does not expire"
    used = f"used {row.used:%Y-%m-%d %H:%M}" if row.used else "never used"
    return f"{row.id}  {row.name:20} {', '.join(row.scopes)}  {state}, {used}"
