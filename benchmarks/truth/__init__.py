"""What is promised for every use, held by simulation or by exact solutions."""
