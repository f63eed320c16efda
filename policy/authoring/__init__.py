"""For those who write rules: tests, coverage, explanations, starting points and schemas."""
