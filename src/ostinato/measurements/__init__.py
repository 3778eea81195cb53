"""What was measured: values as users give them, statistics that add, and what kind of number a measurement is."""
