"""Readers of LightGBM, XGBoost, CatBoost and EBM models, in memory and from files."""
