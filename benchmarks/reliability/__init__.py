"""What studies survive: processes killed, disks that fail, servers that restart, workers that vanish."""
