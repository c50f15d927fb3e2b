"""AWS-syntax policies: parsing and evaluating them."""
