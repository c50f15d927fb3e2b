"""AWS signatures: verifying requests and signed chunks, and signing our own."""
