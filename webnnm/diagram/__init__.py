"""Diagrams of networks: boxes and edges, laid out by dagre, as SVG or as Mermaid."""
