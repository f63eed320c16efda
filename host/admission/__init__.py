"""Admission: proposals, plans, approvals, the ledger of what was decided, and the registry of what runs."""
