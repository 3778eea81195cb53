"""Candidates at s3://…, on a real server of that protocol and read by real workers."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from libraries import needed
from ostinato import MiniUCB, Optimizer, ShardedTable, Study
from ostinato.candidates import read_candidates
from ostinato.errors import InvalidCandidates
from ostinato.kernels import RBF

s3fs, moto = needed("s3fs"), needed("moto.server")
pytestmark = pytest.mark.filterwarnings("default")  # Dask and boto have some of their own
ROWS = 400


@pytest.fixture(scope="module")
def bucket():
    """A file system of a server of its own. Where it is, and who asks, is in the environment, as users have it."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = s3fs.S3FileSystem(skip_instance_cache=True)
        system.mkdir("lab")
        yield system
    server.stop()


@pytest.fixture(scope="module")
def client(bucket):
    """Workers that know where the server is."""
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as it:
            yield it


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    numbers = {"temp": rng.uniform(20, 80, ROWS), "rate": rng.uniform(0, 1, ROWS)}
    return pd.DataFrame(numbers | {"solvent": rng.choice(["water", "none"], ROWS)})


def upload(bucket, frame, folder, edges):
    for number, (first, stop) in enumerate(pairwise(edges)):
        with bucket.open(f"lab/{folder}/{number}.parquet", "wb") as file:
            frame[first:stop].to_parquet(file, index=False, row_group_size=60)
    return f"s3://lab/{folder}/*.parquet"


def chosen(table):
    opt = Optimizer(table, kernel=RBF((20.0, 0.3, 1.0)), noise_std=0.1, policy=MiniUCB(C=1.5), seed=0)
    found, rng = [], np.random.default_rng(0)
    for _ in range(12):
        batch = opt.ask()
        found.append((batch.index, batch.repeats))
        opt.tell(batch, batch.candidate["rate"] + 0.1 * rng.standard_normal(batch.repeats))
    return found, opt.best().candidate


def test_choices_are_those_of_the_same_rows_in_memory(bucket, client, frame):
    table = ShardedTable(client, upload(bucket, frame, "table", [0, 150, 160, ROWS]))
    assert [table[row] for row in range(0, ROWS, 57)] == [read_candidates(frame)[row] for row in range(0, ROWS, 57)]
    assert chosen(table) == chosen(frame)


def test_a_study_finds_its_files_again(bucket, client, frame, tmp_path, monkeypatch):
    path = upload(bucket, frame, "study", [0, 200, ROWS])
    study = Study("lab", tmp_path / "lab.db", ShardedTable(client, path), seed=0, budget=8)
    study.run(lambda x: float(x["rate"]), 6)
    monkeypatch.setenv("OSTINATO_DASK", client.scheduler.address)
    again = Study("lab", tmp_path / "lab.db")
    assert again.best().candidate == study.best().candidate
    assert again.run(lambda x: float(x["rate"]), 8).steps == 8


def test_files_that_came_later_are_seen(bucket, client, frame):
    path = upload(bucket, frame, "growing", [0, 100])
    assert len(ShardedTable(client, path)) == 100
    upload(bucket, frame, "growing", [0, 100, 250, ROWS])
    assert len(ShardedTable(client, path)) == ROWS


def test_a_card_or_a_single_machine_reads_them_too(bucket, frame):
    path = upload(bucket, frame, "mapped", [0, 200, ROWS])
    assert read_candidates(path).features.tolist() == read_candidates(frame).features.tolist()


def test_what_is_not_there_is_said(bucket, client):
    with pytest.raises(InvalidCandidates, match=r"no file at s3://lab/nothing/\*\.parquet"):
        ShardedTable(client, "s3://lab/nothing/*.parquet")
    with pytest.raises(InvalidCandidates, match=r"no file at s3://elsewhere/\*\.parquet"):
        ShardedTable(client, "s3://elsewhere/*.parquet")
    with bucket.open("lab/broken/0.parquet", "wb") as file:
        file.write(b"no Parquet")
    with pytest.raises(InvalidCandidates, match=r"lab/broken/0\.parquet cannot be read as Parquet"):
        ShardedTable(client, "s3://lab/broken/*.parquet")
    with pytest.raises(InvalidCandidates, match=r"s3://lab/broken is a folder: give .*broken/\*\.parquet"):
        ShardedTable(client, "s3://lab/broken")


def test_a_server_that_does_not_answer_is_said(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # which nobody listens to
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(InvalidCandidates, match=r"s3://lab/\*\.parquet cannot be read \(.*127\.0\.0\.1:9"):
        read_candidates("s3://lab/*.parquet")
    s3fs.S3FileSystem.clear_instance_cache()
