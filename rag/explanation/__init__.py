"""Why a passage stands where it stands, and what would change that."""
