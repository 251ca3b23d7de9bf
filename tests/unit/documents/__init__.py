"""Tests of the documents: what they name exists, and what exists is named."""
