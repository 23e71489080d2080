"""Test that an object's identifier is its registry key."""

from typing import ClassVar

from brainscore_core.testing.contracts import Contract

__all__ = ["IdentifierContract"]


class IdentifierContract(Contract):
    """Its identifier is its registry key."""

    why_one_name: ClassVar[str] = "use one name for both: results are stored under it"

    def test_identifier_is_the_key(self) -> None:
        """Its identifier is the key it is registered under."""
        if self.loaded.identifier != self.identifier:
            self.broken(
                f"calls itself {self.loaded.identifier!r}; expected the key it is registered under", self.why_one_name
            )
