"""What an operator asks for, one noun a file: values that say what they need, and what is done."""
