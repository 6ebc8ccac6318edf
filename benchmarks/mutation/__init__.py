"""Mutation testing: do the tests notice when the code is changed?"""
