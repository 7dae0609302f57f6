"""Wire conformance: does a server return a model's calls unchanged? Each check has a rule, requests and a judgement.

`Examiner` runs them against an endpoint; no module but those of the session imports pytest. See docs/wire.md.
"""
