"""From a plan to something that runs: a chain of passes, each a function from plan to plan."""
