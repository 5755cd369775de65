// Element types of maps, tiles and tokens. Stands before every kernel source; needs no header.
