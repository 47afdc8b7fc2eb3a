"""People, what they may do in which knowledge base, links that show one, and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False, server_default=""),
        sa.Column("subject", sa.String(64)),
        sa.Column("administrator", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("email", name=op.f("uq_person_email")),
        sa.UniqueConstraint("subject", name=op.f("uq_person_subject")),
    )
    op.create_table(
        "member",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.String(12), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        _of_base("fk_member_base_id"),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_member_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("base_id", "person_id", name=op.f("pk_member")),
    )
    op.create_index(op.f("ix_member_person_id"), "member", ["person_id"])
    op.create_table(
        "share_link",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("maker", sa.String(), nullable=False, server_default=""),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked", sa.DateTime(timezone=True)),
        _of_base("fk_share_link_base_id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_share_link_digest")),
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("person_id", sa.String(12), nullable=False),
        sa.Column("via", sa.String(), nullable=False),
        sa.Column("key_id", sa.String(12), nullable=False, server_default=""),
        sa.Column("base_id", sa.Integer()),
        sa.Column("base", sa.String(), nullable=False, server_default=""),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
    op.create_index(op.f("ix_audit_entry_at"), "audit_entry", ["at"])
    op.create_index(op.f("ix_audit_entry_base_id_at"), "audit_entry", ["base_id", "at"])


def _of_base(name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["base_id"], ["knowledge_base.id"], name=op.f(name), ondelete="CASCADE"
    )
