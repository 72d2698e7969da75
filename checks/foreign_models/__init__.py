"""Model files that their makers wrote, in the versions that people have: read, and compared with the maker itself.

    ./run check foreign_models [ENVIRONMENT ...] [--count 8] [--records 10000] [--formats skops,onnx]

Each environment has a scikit-learn of its own, from 1.2 to today, with XGBoost, LightGBM, CatBoost, skl2onnx or
sklearn2pmml of that time. It is installed once into PAFER_DATA or build/, which needs a package index: one that cannot
be installed is skipped, by name. There the maker fits random models and writes its files. Here they are read, and
records are invented on and beside every threshold, with missing values and categories that training never saw. Then
the maker, in its own version, decides about these records: XGBoost, LightGBM, CatBoost and scikit-learn by the model
itself, ONNX by ONNX Runtime, PMML by JPMML's evaluator.

A decision that differs is a fault; where numbers are rounded (linear models, layers, several classes), a decision that
differs far from its threshold is one. A refusal is a fault unless its reason is among those that are right for what
the file is.
"""
