"""Tests of the documents: every thing that they name exists, and every thing that exists is named."""
