"""pyasc."""
