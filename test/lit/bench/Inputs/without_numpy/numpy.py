raise ImportError("as where it is not installed")
