"""Tests shared by plugins of one design: each sets its own facts and inherits them."""
