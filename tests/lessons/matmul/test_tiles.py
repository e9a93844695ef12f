"""The figures of the tile and of the halo say what they show."""

from gpulearn_lessons.matmul.tiles import halo, tile


def test_a_tile_is_written_by_rows_and_read_by_columns():
    picture = tile()
    assert picture.png.startswith(b"\x89PNG")
    assert "a warp reads a column of the tile and writes it to a row of out" in picture.alt


def test_a_halo_is_loaded_in_a_second_round():
    alt = halo().alt
    assert "has 12 cells: 2 of halo, 8 of its own, 2 of halo" in alt
    assert "threads 0 to 3 the last 4 in a second round" in alt
    assert "Output 4 needs 5 cells" in alt
