"""What an agent did on its way: its tool calls as plain commands, paths and addresses, and rules over them."""
