"""Pictures of what a discriminant does, in the style of scikit-learn's displays.

Each is made by ``from_estimator`` and drawn at once; ``plot`` draws it again, on other
axes. They need matplotlib.
"""
