"""The build gate: `python -m codegen {bump,generate,check}`. A build-time program; the SDK never imports it."""
