"""An embedded Mistral: real HTTP on loopback, scripted answers, faults included."""
