"""The fixture ``ask`` of people's own tests: the model under test asked, its tools carried out, answers recorded."""
