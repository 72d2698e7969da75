"""Randomised algorithms: each states its loss, its noise and its source. Nothing here stores or sends."""
