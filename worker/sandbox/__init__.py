"""The sandbox of one child: what each profile may do, made irrevocable before any job is read."""
