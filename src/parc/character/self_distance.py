import itertools


def self_pairs(character):
    return tuple((i, j) for i, j in itertools.combinations(range(len(character)), 2) if character.parents[j] != i)
