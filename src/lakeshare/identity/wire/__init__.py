"""STS on the wire: forms in, XML out."""
