"""Tide tables for the harbours of the coast."""
