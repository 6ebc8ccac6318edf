"""Tests of scikit-learn that our classifier cannot pass, and why.

For each module, by the first part of a test's name. All of these tests are run and must
fail, but for those whose reason begins with "slow".
"""

_C = "tunes a parameter that ours does not have"
_ABSENT = "expects that the classifier lacks a method which ours has"
_FEW = "has a single row of each class, or of all but one, or of one class only"
_MULTILABEL = "gives several labels to a row at once"
_IMPORTANCES = "reads feature_importances_, which ours does not have"
_NUMBERS = "compares with numbers of another classifier"

LEFT_OUT = {
    "sklearn.ensemble.tests.test_bagging": {
        "test_probability": _FEW,
        "test_error": _ABSENT,
        "test_gridsearch": _C,
        "test_invalid_sample_weight_max_samples_bootstrap_combinations": _FEW,
        "test_bagging_classifier_with_missing_inputs": _FEW,
        "test_bagging_small_max_features": _FEW,
        "test_oob_score_classification": "slow: hundreds of fits to 64 features",
    },
    "sklearn.ensemble.tests.test_stacking": {
        "test_stacking_classifier_error[y1-params1-ValueError": _ABSENT,
        "test_stacking_classifier_multilabel_predict_proba": _MULTILABEL,
        "test_stacking_classifier_multilabel_decision_function": _MULTILABEL,
        "test_stacking_classifier_multilabel_auto_predict": _MULTILABEL,
    },
    "sklearn.ensemble.tests.test_weight_boosting": {
        "test_oneclass_adaboost_proba": _FEW,
        "test_gridsearch": _C,
        "test_importances": _IMPORTANCES,
        "test_estimator": _FEW,
        "test_adaboost_numerically_stable_feature_importance_with_small_weights": _IMPORTANCES,
        "test_adaboost_consistent_predict": "slow: a minute of boosting on ten digits",
    },
}
