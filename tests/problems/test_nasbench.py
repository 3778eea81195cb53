"""The reader of NAS-Bench-101's file, on small files written here byte by byte."""

import base64
import json
import struct

import numpy as np
import pytest

from ostinato.errors import InvalidCandidates, MissingSetting
from ostinato.problems import cells, load, nas101, read_nasbench
from ostinato.problems.tfrecord import masked_crc

CONV, POOL, POINT = "conv3x3-bn-relu", "maxpool3x3", "conv1x1-bn-relu"


def crc32c(data):
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def evaluation(epoch, accuracy):
    doubles = [(1, epoch), (2, 100.0), (3, 1.0), (4, accuracy), (5, 0.5)]
    body = b"".join(bytes([field << 3 | 1]) + struct.pack("<d", value) for field, value in doubles)
    body += bytes([6 << 3 | 2, 4]) + b"ckpt"
    return bytes([1 << 3 | 2, len(body)]) + body


def metrics(accuracy):
    parameters = bytes([2 << 3 | 0, 0x96, 0x01])  # 150, in two groups of seven bits
    time = bytes([3 << 3 | 1]) + struct.pack("<d", 12.5)
    return evaluation(0.0, 0.1) + evaluation(108.0, accuracy) + evaluation(54.0, 0.3) + parameters + time


def record(adjacency, operations, accuracy, epochs=108):
    bits = "".join(str(int(bit)) for bit in np.asarray(adjacency).ravel())
    names = ",".join(["input", *operations, "output"])
    return framed(json.dumps(["hash", epochs, bits, names, base64.b64encode(metrics(accuracy)).decode()]).encode())


def unfolded(row):
    adjacency = np.zeros((6, 6), dtype=int)
    adjacency[np.triu_indices(6, 1)] = row[:15]
    return adjacency, [POOL if bit else CONV for bit in row[15:]]


def relabelled(adjacency, operations):
    """Another labelling of the same cell, whose edges still go upwards; None where there is none."""
    for a in range(1, 4):
        order = np.arange(6)
        order[[a, a + 1]] = order[[a + 1, a]]
        moved = adjacency[np.ix_(order, order)]
        if not np.tril(moved).any() and not np.array_equal(moved, adjacency):
            return moved, [operations[vertex - 1] for vertex in order[1:5]]
    return None


FIRST = next(i for i, row in enumerate(cells()) if row[15:].any() and relabelled(*unfolded(row)))
SECOND = 9_000


@pytest.fixture
def small_file(tmp_path):
    first, second = unfolded(cells()[FIRST]), unfolded(cells()[SECOND])
    path = tmp_path / "small.tfrecord"
    path.write_bytes(
        record(*second, 0.9)
        + record(*first, 0.5)
        + record(*relabelled(*first), 0.75)  # the same cell by another labelling
        + record(*second, 0.8)
        + record(*second, 0.7)
        + record(second[0], [POINT, CONV, CONV, POOL], 0.99)  # another operation
        + record(*second, 0.95, epochs=36)  # another length of training
        + record(np.triu(np.ones((5, 5)), 1), [CONV, CONV, POOL], 0.99)  # fewer vertices
    )
    return path


def test_reads_the_small_cells_with_their_final_accuracies(small_file):
    trainings = read_nasbench(small_file)
    assert np.array_equal(trainings.cells, cells()[[FIRST, SECOND]])
    assert trainings.accuracies[0, :2].tolist() == [0.5, 0.75]
    assert np.isnan(trainings.accuracies[0, 2])
    assert trainings.accuracies[1].tolist() == [0.9, 0.8, 0.7]


def test_rewards_are_the_standardised_accuracies(small_file):
    problem = nas101(small_file, partial=True)
    means, rng = np.asarray([0.625, 0.8]), np.random.default_rng(0)
    assert problem.truth == pytest.approx([-1, 1])
    assert (problem.columns, problem.optimum, len(problem.lengthscales)) == (19, 1, 10)
    seen = np.unique(problem.measure(1, 100, rng)) * np.std(means) + np.mean(means)
    assert seen == pytest.approx([0.7, 0.8, 0.9])


def test_the_whole_of_the_benchmark_is_wanted(small_file):
    with pytest.raises(InvalidCandidates, match="2 of the 12,416 cells"):
        nas101(small_file)


def test_without_the_file_there_are_no_rewards(monkeypatch, tmp_path):
    monkeypatch.delenv("OSTINATO_NASBENCH101", raising=False)
    with pytest.raises(MissingSetting, match=r"nasbench_only108\.tfrecord"):
        load("nas101")
    with pytest.raises(MissingSetting, match="is not a file"):
        load("nas101", path=tmp_path / "nowhere")


def test_the_environment_names_the_file(monkeypatch, small_file):
    monkeypatch.setenv("OSTINATO_NASBENCH101", str(small_file))
    assert load("nas101", partial=True).size == 2


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-3], "cut, after byte"),
        (lambda data: data[: len(data) // 2], "cut, after byte"),
        (lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], "checksum"),
        (lambda data: bytes([data[0] ^ 1]) + data[1:], "not a TFRecord file"),
        (lambda data: b"<html>not found</html>", "not a TFRecord file"),
        (lambda data: b"short", "not a TFRecord file"),
        (lambda data: b"", "no training of a small cell"),
        (lambda data: framed(b"hello world"), "not a record of NAS-Bench-101"),
        (lambda data: framed(b"[1, 2, 3]"), "not a record of NAS-Bench-101"),
        (lambda data: framed(b"{}{}"), "not a record of NAS-Bench-101"),
    ],
)
def test_damaged_and_wrong_files_are_told(small_file, tmp_path, damage, message):
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(damage(small_file.read_bytes()))
    with pytest.raises(InvalidCandidates, match=message):
        read_nasbench(path)


@pytest.mark.parametrize("raw", [b"", b"\x0a", b"\x0a\x05\x01", b"\x0b", evaluation(1.0, 7.0), b"\xff"])
def test_damaged_metrics_are_told(tmp_path, raw):
    adjacency, operations = unfolded(cells()[SECOND])
    bits, names = "".join(map(str, adjacency.ravel())), ",".join(["input", *operations, "output"])
    path = tmp_path / "metrics.tfrecord"
    path.write_bytes(framed(json.dumps(["hash", 108, bits, names, base64.b64encode(raw).decode()]).encode()))
    with pytest.raises(InvalidCandidates, match="not a record of NAS-Bench-101"):
        read_nasbench(path)


def test_a_cell_that_breaks_the_rule_is_told(tmp_path):
    path = tmp_path / "broken.tfrecord"
    path.write_bytes(record(np.triu(np.ones((6, 6)), 1), [CONV] * 4, 0.9))  # 15 edges
    with pytest.raises(InvalidCandidates, match="break NAS-Bench-101's rule"):
        read_nasbench(path)


def test_checksums_of_many_records_at_once():
    pieces = [b"123456789", b"abcd", bytes(range(256)) * 3]
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert [struct.pack("<I", value) for value in masked_crc(pieces).tolist()] == [masked(piece) for piece in pieces]
