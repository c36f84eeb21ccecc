"""Arrow and Mosaic: types of one as types of the other, stored values as Arrow scalars."""
