"""The harness: holders to test, databases, invented people, models and plans. It knows the product alone."""
