"""What bends the test runner rather than the code: rules by kind of file."""
