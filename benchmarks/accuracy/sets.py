"""The sets of the arena, and which of them are set aside.

Half of the 34 sets of the folder `more` were set aside, by the draw below, before
anything was run for the recipe: nothing is chosen by what happens on them, and they are
looked at once in the end. Sets that earlier work on recipes had seen (libras, semeion
and spectf; haberman, steel_plates and wine_red; plant_margin for its training time)
were not in the draw. Sets of one origin stay together. An earlier version of the
default discriminant, not of the recipe, had been compared with LDA on all of them.

The draw: families of fewer than 1,000 rows (7 sets to be drawn), then the others (10),
in alphabetical order, by ``numpy.random.default_rng(25).permutation``, each family
taken as long as it fits.
"""

from __future__ import annotations

# Looked at once, in the end.
SET_ASIDE = (
    "banknote",
    "biomed",
    "body",
    "cardiotocography_10",
    "cardiotocography_3",
    "climate_crashes",
    "ecoli",
    "eeg_eye_state",
    "german_credit",
    "new_thyroid",
    "oil_spill",
    "qsar_biodegradation",
    "ringnorm",
    "seeds",
    "twonorm",
    "wall_following_24",
    "wall_following_4",
)
# The other half of the folder `more`, to develop on.
NEW_DEVELOPMENT = (
    "abalone_3class",
    "avila",
    "dry_bean",
    "haberman",
    "htru2",
    "libras",
    "mammographic",
    "page_blocks",
    "plant_margin",
    "semeion",
    "spectf",
    "steel_plates",
    "vertebral_2c",
    "vertebral_3c",
    "waveform",
    "waveform_noise",
    "wine_red",
)
