"""Permission audits: results of recipes and systems that a user must not see."""
