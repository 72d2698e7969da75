"""The console and the transparency report: pages for people, rendered here (4-interface)."""
