"""What an operator asks for, over HTTP: identities, the server and its settings, audit, state. Composes the rooms."""
