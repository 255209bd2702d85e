"""A prediction with all parts: operators, dtypes with and without a saving, changes, models."""

from __future__ import annotations

from sizeguard.predict.prediction import DtypeCost, OperatorCost, PredictedSaving, Prediction

LONG = "aten::_native_batch_norm_legit_no_training"


def vision_prediction() -> Prediction:
    operators = tuple(
        OperatorCost(name, exclusive, exclusive + 350, PredictedSaving(exclusive, low, high))
        for name, exclusive, low, high in (
            ("aten::convolution", 5430, 5400, 5490),
            (LONG, 1412, 1400, 1430),
            ("aten::addmm", 1205, 1190, 1210),
        )
    )
    return Prediction(
        selection="native/apps/vision/selected_operators.yaml",
        before=41204,
        load=37940,
        ram=1312,
        margin=60,
        changes=(),
        per_operator=operators,
        per_model=(),
        per_dtype=(
            DtypeCost("aten::convolution", "Double", PredictedSaving(2310, 2280, 2340)),
            DtypeCost(LONG, "Float", None),
        ),
    )
