"""A passage as statements: sentences, items of lists, rows of tables, without running heads."""
