"""How a spool is sent on."""
