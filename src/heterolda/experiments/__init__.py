"""The paper's study: its data sets, protocol and tables."""
