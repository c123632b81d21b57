pass
CASES = {}
