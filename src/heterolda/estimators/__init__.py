"""What users import: the discriminant, the local search and `recommended`.

They stand in `heterolda`; other names of the files in this folder are not public.
"""
