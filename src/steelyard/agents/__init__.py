"""What is weighed: one protocol, one file an agent."""
