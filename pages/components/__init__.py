"""Components that several pages share: widgets, cards, charts and their colours."""
