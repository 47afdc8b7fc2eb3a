"""How good answers are: grounded, relevant, rightly cited, correct, rightly refused."""
