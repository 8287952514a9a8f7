// Its precompiled headers are those of all test programs; there is nothing else in it.
