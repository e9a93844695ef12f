"""Recordings are read only if they fit the schema."""

import json

import pytest

from gpulearn.errors import RecordingError
from gpulearn.perf import recordings
from gpulearn.perf.recordings import Recording

GOOD = Recording(
    name="matmul",
    device="NVIDIA H200",
    driver="580.65.06",
    date="2026-11-01",
    versions={"torch": "2.13.0"},
    command="make gpu",
    rows=[{"n": 64, "dtype": "float32", "seconds": 1e-5}],
)


def test_a_recording_comes_back_as_it_was_saved(tmp_path):
    path = recordings.save(GOOD, tmp_path)
    assert path.name == "matmul-nvidia-h200.json"
    assert recordings.load(path) == GOOD
    assert str(GOOD.provenance) == "recorded on NVIDIA H200, 2026-11-01"


def test_the_newest_of_a_name_is_found(tmp_path):
    recordings.save(GOOD, tmp_path)
    newer = Recording(**{**vars(GOOD), "device": "Tesla T4", "date": "2026-11-02"})
    recordings.save(newer, tmp_path)
    assert recordings.find("matmul", tmp_path) == newer
    assert recordings.find("transpose", tmp_path) is None
    last = Recording(**{**vars(GOOD), "name": "matmul-ideas", "date": "2026-11-03"})
    recordings.save(last, tmp_path)
    assert recordings.find("matmul", tmp_path) == newer


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 1}, "it has schema 1, and this version reads 2"),
        ({"color": "red"}, "unexpected keyword argument 'color'"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, sentence):
    path = recordings.save(GOOD, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(RecordingError, match=sentence):
        recordings.load(path)


@pytest.mark.parametrize("field", ["schema", *vars(GOOD)])
def test_a_missing_field_is_named(tmp_path, field):
    path = recordings.save(GOOD, tmp_path)
    data = json.loads(path.read_text())
    del data[field]
    path.write_text(json.dumps(data))
    with pytest.raises(RecordingError, match=f"'{field}'"):
        recordings.load(path)


def test_what_is_no_recording_is_refused(tmp_path):
    path = tmp_path / "broken.json"
    with pytest.raises(RecordingError, match="broken.json cannot be read"):
        recordings.load(path)
    for text in ("", "{", "[1]"):
        path.write_text(text)
        with pytest.raises(RecordingError, match="broken.json"):
            recordings.load(path)


def test_all_that_the_package_carries_can_be_read():
    for path in recordings.available():
        recordings.load(path)
