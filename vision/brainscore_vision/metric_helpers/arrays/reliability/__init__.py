"""Estimate the reliability of repeated measurements, and the ceilings that follow."""
