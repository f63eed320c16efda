"""What exists: capabilities, primitives, placements, operators and facts, all declared through hooks."""
