"""What happens: finds plugins and rules, reads what is submitted, and shows what was decided."""
