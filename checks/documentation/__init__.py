"""The documentation site: pages made from the code, built strictly, every link of the built pages followed."""
