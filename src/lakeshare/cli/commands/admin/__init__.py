"""The commands for operators: clients of the admin API."""
