"""The dense system: what a call fills in, what it records, where it keeps vectors, which models it may take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay as package
import letters
from assay import catalog, embeddings, experiment
from assay.call import call_of, parts_within, placed, short_call
from assay.encoder import Reading, Weights, without_tokens
from assay.errors import (
    DataError,
    FileError,
    FormatError,
    UnavailableError,
    UnknownNameError,
    UsageError,
)
from assay.harness import retrieve, retrieve_each
from assay.network import refuse_code
from assay.preset import PRESETS, TASK, WEB_SEARCH, preset_of
from assay.reports.notices import notices
from assay.reports.records import result_record
from assay.retrieval.dense import Dense
from assay.sources import chunk_level, open_collection
from assay.system import spec_hash, spec_of
from assay.texts import Texts
from assay.weights import encoder_of, own_prompts, own_reading, weights_of
from commands import assay, ok, refused
from hub import Hub, Repo
from letters import Letters, model_folder
from tiny import chunk_task, dated_task


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    embeddings.opened.cache_clear()
    letters.ASKED.clear()
    with letters.registered():
        yield


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(model_folder(tmp_path / "model"))


def test_scores_are_dot_products_of_the_texts_vectors_and_the_rule_comes_first(model: str) -> None:
    for task in (chunk_task(), dated_task()):
        run = retrieve(task, Dense(model), depth=3)
        encoder = Letters().opened(Weights("", Path(model), ""), Reading(), device="")
        passages, queries = task.passages.texts["plain"].to_list(), task.queries.texts["plain"].to_list()
        rows, asked = (
            encoder.encode(encoder.prepared(texts), range(len(texts))).astype(np.float64)
            for texts in (passages, queries)
        )
        score = asked @ rows.T
        for query in range(len(queries)):
            own = slice(run.offsets[query], run.offsets[query + 1])
            may = np.flatnonzero(task.eligibility.allows(np.full(len(rows), query), np.arange(len(rows))))
            best = np.sort(score[query][may])[::-1][:3]
            assert np.allclose(run.score[own][:3], best, rtol=1e-12)
            assert set(run.passage[own].tolist()) <= set(may.tolist())
            assert np.allclose(score[query][run.passage[own]], run.score[own], rtol=1e-12)


# What a call fills in.


def test_a_preset_fills_what_the_call_leaves_out() -> None:
    made = Dense("BAAI/bge-m3")
    assert (made.pooling, made.padding, made.longest, made.normalise) == ("cls", "right", 8192, True)
    assert made.revision == "5617a9f61b028005a4858fdac845db406aefb181"
    assert (made.query_prompt, made.passage_prompt) == ("", "")
    given = Dense("BAAI/bge-m3", longest=512, normalise=False, revision="main", query_prompt="q: ")
    assert (given.longest, given.normalise, given.revision, given.query_prompt) == (512, False, "main", "q: ")
    assert given.pooling == "cls"
    dragon = Dense("facebook/dragon-plus-context-encoder")
    assert (dragon.query_model, dragon.normalise) == ("facebook/dragon-plus-query-encoder", False)
    plain = Dense("owner/unknown")
    assert (plain.pooling, plain.query_prompt, plain.longest, plain.normalise) == ("", None, 0, None)


def test_the_task_goes_where_the_prompt_says() -> None:
    made = Dense("Qwen/Qwen3-Embedding-8B", task="Find the reply")
    assert (made.task, made.query_prompt, made.padding, made.pooling) == (
        "Find the reply",
        "Instruct: {task}\nQuery:",
        "left",
        "last",
    )
    assert Dense("Qwen/Qwen3-Embedding-8B").task == WEB_SEARCH
    with pytest.raises(UsageError, match=r"bge-m3 takes no task; the query prompt '' says where it goes"):
        Dense("BAAI/bge-m3", task="Find the reply")
    with pytest.raises(UsageError, match="owner/unknown takes no task"):
        Dense("owner/unknown", task="Find the reply")
    with pytest.raises(UsageError, match="owner/unknown needs a task"):
        Dense("owner/unknown", query_prompt=f"Task: {TASK} ")
    assert Dense("owner/unknown", "Find it", query_prompt=f"Task: {TASK} ").task == "Find it"


def test_prompts_reach_the_model_word_for_word(model: str) -> None:
    task = chunk_task()
    made = Dense(model, "find it", query_prompt=f"{TASK}: ", passage_prompt="told: ")
    retrieve(task, made)
    asked = {" ".join(f"find it: {text}".split()) for text in task.queries.texts["plain"]}
    told = {" ".join(f"told: {text}".split()) for text in task.passages.texts["plain"]}
    assert asked | told == set(letters.ASKED)


@pytest.mark.parametrize(
    ("said", "prompts"),
    [
        ({"prompts": {"query": "q: ", "document": "d: ", "passage": "p: "}}, ("q: ", "d: ")),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, ("q: ", "p: ")),
        ({"prompts": {"query": "", "document": ""}, "default_prompt_name": None}, ("", "")),
        ({"prompts": {"any": "a: "}, "default_prompt_name": "any"}, ("a: ", "a: ")),
        ({"prompts": None}, ("", "")),
        ({}, ("", "")),
        ([], ("", "")),
    ],
)
def test_without_a_preset_prompts_are_those_of_the_models_files(
    tmp_path: Path, said: Any, prompts: tuple[str, str]
) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "config_sentence_transformers.json").write_text(json.dumps(said))
    assert own_prompts(folder) == prompts
    made = Dense(str(folder))
    assert (made.recipe(queries=True).prompt, made.recipe(queries=False).prompt) == prompts
    assert Dense(str(folder), query_prompt="").recipe(queries=True).prompt == ""
    run = retrieve(chunk_task(), made)
    assert run.models[0].get("query prompt", "") == prompts[0]


def test_what_is_not_said_is_read_from_the_models_files(tmp_path: Path) -> None:
    assert own_reading(tmp_path) == Reading()
    listed = [{"type": "x.Transformer"}, {"type": "x.Pooling", "path": "1_Pooling"}, {"type": "x.Normalize"}]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "tokenizer_config.json").write_text('{"padding_side": "left", "model_max_length": 1e30}')
    for pooling, said in (
        ("last", {"pooling_mode": "lasttoken"}),
        ("cls", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}),
    ):
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(said))
        assert own_reading(tmp_path) == Reading(pooling, "left", 0, True)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    assert own_reading(tmp_path).longest == 128
    (tmp_path / "modules.json").write_text("[")
    with pytest.raises(FormatError, match=r"modules\.json is no JSON"):
        own_reading(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": ""}, "model must be a hub id, a folder or package:NAME; found ''"),
        ({"model": 3}, "found 3"),
        ({"pooling": "max"}, "no pooling of dense 'max'"),
        ({"padding": "middle"}, "no padding of dense 'middle'"),
        ({"precision": "int8"}, "no precision of dense 'int8'"),
        ({"longest": -1}, "longest must be a whole number of at least 0"),
        ({"batch": 0}, "batch must be a whole number of at least 1"),
        ({"workers": 0}, "workers must be a whole number of at least 1"),
        ({"workers": True}, "workers must be a whole number"),
    ],
)
def test_values_out_of_range(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Dense(**{"model": "a/b", **values})


def test_sparse_weights_are_read_at_the_commit_of_the_dense_ones() -> None:
    made = catalog.known("system")["learned_sparse"]
    assert made("BAAI/bge-m3").revision == Dense("BAAI/bge-m3").revision == PRESETS["BAAI/bge-m3"].revision
    assert (made("BAAI/bge-m3", revision="main").revision, made("owner/unknown").revision) == ("main", "")
    assert short_call(made("BAAI/bge-m3")) == "learned_sparse('BAAI/bge-m3')"


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_can_be_called_and_written_shortly(name: str) -> None:
    made = Dense(name)
    assert short_call(made).startswith(f"dense({name!r}")
    for written in (short_call(made), call_of(spec_of(made)), call_of(spec_of(made), {})):
        assert catalog.system(written) == made
    preset = preset_of(name)
    assert preset is not None
    assert preset.source
    assert preset.licence
    assert (TASK in preset.query_prompt) == bool(preset.task)


# What is recorded, and what is not.


def test_the_spec_has_every_field_and_not_where_it_runs(model: str) -> None:
    made = Dense("Qwen/Qwen3-Embedding-8B")
    elsewhere = replace(made, device="cuda:1", workers=4, store="/elsewhere")
    assert spec_of(elsewhere) == spec_of(made)
    assert spec_hash(spec_of(elsewhere)) == spec_hash(spec_of(made))
    assert short_call(elsewhere) == short_call(made) == f"dense('Qwen/Qwen3-Embedding-8B', task={WEB_SEARCH!r})"
    spec = spec_of(made)
    assert not {"device", "workers", "store"} & spec.keys()
    assert (spec["pooling"], spec["query_prompt"], spec["normalise"]) == ("last", "Instruct: {task}\nQuery:", True)
    assert short_call(Dense("BAAI/bge-m3", longest=512)) == "dense('BAAI/bge-m3', longest=512)"


def test_where_a_system_runs_is_set_in_all_its_parts() -> None:
    made = catalog.system("fusion(bm25, titled(dense('a/b')), dense('a/c', device='cpu'))")
    where = placed(made, device="cuda", workers=3)
    dense = [part for part in parts_within(where) if isinstance(part, Dense)]
    assert [(part.device, part.workers) for part in dense] == [("cuda", 3), ("cpu", 3)]
    assert spec_of(where) == spec_of(made)
    bm25 = catalog.system("bm25")
    assert placed(bm25, device="cuda") is bm25
    assert placed(made) is made
    # A field that changes numbers is never set so.
    assert placed(Dense("a/b"), longest=7, pooling="cls") == Dense("a/b")


def result_of(model: str, **rest: Any) -> experiment.Result:
    collection = package.open("demo:questions")
    judging = experiment.Judging(resamples=50)
    return experiment.run_system(collection, collection.task("answer"), Dense(model, **rest), judging=judging)


def test_what_pins_the_model_is_stored_and_shown(model: str, tmp_path: Path) -> None:
    result = result_of(model, longest=9, device="cpu", query_prompt="ask: ")
    [told] = result.run.models
    weights = weights_of(model)
    assert (told["model"], told["identity"], told["encoder"], told["device"]) == (
        model,
        weights.identity,
        "letters 1",
        "cpu",
    )
    assert told["query prompt"] == "ask: "
    assert result.run.counts["passages longer than the model reads"] > 50
    again = experiment.stored(experiment.store(result, tmp_path))[0]
    assert again.run.models == result.run.models
    assert result_record(again)["models"] == [told]
    lines = notices(again)
    assert f"model {model} at {weights.identity[:12]}: device cpu, encoder letters 1, longest 9" in lines[0]
    assert f"{result.run.counts['passages longer than the model reads']} passages longer than the model reads" in lines


def test_models_of_one_system_are_not_told_of_another(model: str, tmp_path: Path) -> None:
    other = str(model_folder(tmp_path / "other", 12))
    one, two = Dense(model), Dense(other)
    both = catalog.known("system")["fusion"](one, catalog.known("system")["titled"](two), method="minmax")
    runs = list(retrieve_each(chunk_task(), [one, "bm25", two, both]))
    assert [[told["model"] for told in run.models] for run in runs] == [[model], [], [other], [model, other]]


def test_vectors_are_kept_where_one_says_and_found_again(model: str, tmp_path: Path) -> None:
    task = chunk_task()
    first = retrieve(task, Dense(model), indexes=tmp_path / "indexes")
    asked = len(letters.ASKED)
    for made, place in (
        (Dense(model), tmp_path / "indexes"),
        (Dense(model, store=str(tmp_path / "indexes")), None),
        (Dense(model, store=str(tmp_path / "indexes")), tmp_path / "empty"),
    ):
        again = retrieve(task, made, indexes=place)
        assert again.score.tobytes() == first.score.tobytes()
        assert again.models == first.models
        assert len(letters.ASKED) == asked
    assert not (tmp_path / "empty").exists()
    retrieve(task, Dense(model))
    assert len(letters.ASKED) == 2 * asked


def test_another_model_for_queries(model: str, tmp_path: Path) -> None:
    other = str(model_folder(tmp_path / "other"))
    (tmp_path / "other" / "more.txt").write_text("another model")
    [told] = retrieve(chunk_task(), Dense(model, query_model=other)).models
    assert (told["query model"], told["query identity"]) == (other, weights_of(other).identity)
    wide = str(model_folder(tmp_path / "wide", 40))
    with pytest.raises(DataError, match=r"gives queries 40 dimensions, and .* gives passages 24"):
        retrieve(chunk_task(), Dense(model, query_model=wide))


def test_mask_tokens_are_not_read() -> None:
    assert without_tokens(Texts.of(["a [M] b", "[M]", "a  b"]), ("[M]",)).to_list() == ["a b", "", "a  b"]


# Which models it may take.


def test_a_folder_is_pinned_by_its_files(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    first = weights_of(str(folder))
    (folder / "README.md").write_text("notes")
    (folder / ".hidden").write_text("x")
    assert weights_of(str(folder)).identity == first.identity
    (folder / "code.py").write_text("x = 1")
    second = weights_of(str(folder)).identity
    (folder / "letters.txt").write_text("25")
    assert len({first.identity, second, weights_of(str(folder)).identity}) == 3


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        ("/nowhere/at/all", UnavailableError, "there is no folder '/nowhere/at/all'"),
        ("./nowhere", UnavailableError, "there is no folder"),
        ("bge-m3", UnavailableError, "name one, a hub id OWNER/NAME, or package:NAME"),
        ("package:no_such_package", UnavailableError, "no package 'no_such_package' is installed"),
        ("package:no-such", UnavailableError, "no package 'no-such' is installed"),
    ],
)
def test_a_model_that_is_not_there(model: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        retrieve(chunk_task(), Dense(model))


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds no files"):
        weights_of(str(tmp_path / "empty"))
    (tmp_path / "empty" / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match=r"no encoder opens the files in .*; they are notes\.txt\. Known encoders: "):
        retrieve(chunk_task(), Dense(str(tmp_path / "empty")))
    with pytest.raises(UsageError, match="has no revision 'main'"):
        retrieve(chunk_task(), Dense(str(tmp_path / "empty"), revision="main"))
    with pytest.raises(UnknownNameError, match="no encoder 'torch'"):
        retrieve(chunk_task(), Dense(str(tmp_path / "empty"), encoder="torch"))


def test_the_encoder_is_found_by_the_files(tmp_path: Path) -> None:
    def named(*files: str) -> str:
        place = tmp_path / "-".join(files).replace("/", "_")
        for file in files:
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text("{}")
        return encoder_of("", place).name

    assert named("letters.txt") == "letters"
    assert named("model.onnx", "config.json") == named("onnx/model.onnx", "tokenizer.json") == "onnx"
    assert named("config.json", "model.safetensors", "onnx/model.onnx") == "sentence_transformers"
    assert named("modules.json") == "sentence_transformers"
    assert encoder_of("onnx(threads=1)", tmp_path).name == "onnx"


MODEL = "owner/net"


def files(dimensions: int = 24, **more: bytes) -> dict[str, bytes]:
    return {"letters.txt": f"{dimensions}\n".encode(), "config.json": b"{}", "model.safetensors": b"weights", **more}


@pytest.fixture
def repo(hub: Hub) -> Repo:
    return hub.repo(MODEL)


def dense(**rest: Any) -> Dense:
    return Dense(MODEL, encoder="letters", **rest)


def test_a_model_of_the_hub_is_pinned_by_its_commit(repo: Repo) -> None:
    first = repo.commit(files(), "v1")
    [told] = retrieve(chunk_task(), dense()).models
    assert (told["model"], told["identity"]) == (MODEL, first)
    second = repo.commit(files(12))
    assert retrieve(chunk_task(), dense()).models[0]["identity"] == second
    for revision in (first, "v1"):
        run = retrieve(chunk_task(), dense(revision=revision))
        assert run.models[0]["identity"] == first
    assert spec_of(dense(revision=first))["revision"] == first


def test_a_pinned_model_works_offline_and_no_other_does(
    hub: Hub, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = repo.commit(files())
    second = repo.commit(files(12))
    run = retrieve(chunk_task(), dense(revision=first))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = len(hub.asked)
    assert retrieve(chunk_task(), dense(revision=first)).score.tobytes() == run.score.tobytes()
    for revision in (second, "", "v9"):
        with pytest.raises(UnavailableError, match="offline"):
            retrieve(chunk_task(), dense(revision=revision))
    with pytest.raises(UnavailableError, match="offline"):
        retrieve(chunk_task(), Dense("owner/other", encoder="letters", revision=first))
    assert len(hub.asked) == asked


def test_a_model_or_revision_that_the_hub_lacks(hub: Hub, repo: Repo) -> None:
    repo.commit(files())
    with pytest.raises(UnavailableError, match="no such revision"):
        retrieve(chunk_task(), dense(revision="a" * 40))
    with pytest.raises(UnavailableError, match="the hub has no such model"):
        retrieve(chunk_task(), Dense("owner/absent"))
    hub.repo("owner/empty").commit({"README.md": b"nothing"})
    with pytest.raises(UnknownNameError, match=r"no file of owner/empty@.* known: README\.md"):
        retrieve(chunk_task(), Dense("owner/empty"))


def test_what_of_a_model_is_fetched(hub: Hub, repo: Repo, tmp_path: Path) -> None:
    own = {"onnx/model.onnx": b"o", "onnx/model_int8.onnx": b"i", "pytorch_model.bin": b"b", "tokenizer.json": b"{}"}
    repo.commit(
        {
            **files(),
            **own,
            "1_Pooling/config.json": b"{}",
            "openvino/config.json": b"{}",
            "x.h5": b"h",
            "sparse_linear.pt": b"s",
        }
    )

    def held(**rest: Any) -> set[str]:
        folder = weights_of(MODEL, **rest).folder
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    plain = {"letters.txt", "config.json", "model.safetensors", "tokenizer.json", "1_Pooling/config.json"}
    plain |= {"sparse_linear.pt"}
    assert held() == plain
    exports = catalog.made("encoder", "onnx(file='onnx/model_int8.onnx')").exports
    assert held(exports=exports) == plain | {"onnx/model_int8.onnx"}
    assert held(exports=catalog.made("encoder", "onnx").exports) == plain | {"onnx/model_int8.onnx", "onnx/model.onnx"}


@pytest.mark.parametrize(
    "bad",
    [
        {"config.json": b'{"auto_map": {"AutoModel": "modeling.Net"}}'},
        {"tokenizer_config.json": b'{"auto_map": {"AutoTokenizer": ["tokens.Own", null]}}'},
        {"modules.json": b'[{"type": "custom.Transformer", "path": ""}]'},
        {"2_Dense/config.json": b'{"activation_function": "os.getcwd"}'},
        {"2_Dense/config.json": b'{"activation_function": "torch.os.getcwd"}'},
        {"deep/er/router_config.json": b'{"types": {"query": "own.Module"}}'},
        {"config.json": b'{"sentence_transformers": {"activation_fn": "torch.hub.load"}}'},
        {"config.json": b'{"sbert_ce_default_activation_function": "own.Activation"}'},
    ],
)
def test_files_that_name_code_of_their_own_are_refused(tmp_path: Path, bad: dict[str, bytes]) -> None:
    weights = Weights("owner/net", tmp_path, "1")
    good = {
        "config.json": b'{"architectures": ["BertModel"]}',
        "modules.json": b'[{"type": "sentence_transformers.models.Transformer"}]',
        "2_Dense/config.json": b'{"activation_function": "torch.nn.modules.activation.Tanh"}',
        "1_SpladePooling/config.json": b'{"activation_function": "relu", "types": ["max"]}',
        "router_config.json": b'{"types": {"query": "sentence_transformers.models.Transformer"}}',
    }
    for name, data in good.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    refuse_code(weights)
    for name, data in bad.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=r"code that comes with a model is not run.*transformers\('owner/net'\)"):
        refuse_code(weights)


# The command line.


def test_vectors_are_kept_in_the_users_cache_and_said_to_be(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    call, target = f"dense({model!r})", "demo:questions/answer"
    first = ok("run", target, "-s", call, "--resamples", "20", "--device", "cpu", "--workers", "1")
    assert f"what models made is kept in {tmp_path / 'cache' / 'embeddings'} and not made again" in first.out
    assert f"model {model} at " in " ".join(first.out.split())
    asked = len(letters.ASKED)
    second = ok("run", target, "-s", call, "--resamples", "20", "--json").json["results"][0]
    assert len(letters.ASKED) == asked
    assert second["system"] == call
    assert second["models"][0]["device"] == "cpu"
    ok("run", target, "-s", call, "--resamples", "20", "--indexes", tmp_path / "own", "--json")
    assert len(letters.ASKED) == 2 * asked


def test_a_fit_of_weights_finds_the_vectors_of_a_run(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    chunks = open_collection("demo:chunks")
    split = Texts.of(["dev" if row % 2 else "test" for row in range(len(chunks.queries))])
    queries = replace(chunks.queries, columns={**chunks.queries.columns, "split": split})
    chunk_level.save(replace(chunks, queries=queries), tmp_path / "set")
    call, target = f"fusion(bm25, dense({model!r}), method='minmax')", tmp_path / "set/passages"
    ok("run", target, "-s", call, "--split", "dev", "--resamples", "20")
    asked = len(letters.ASKED)
    assert ok("train", "fusion", target, "-s", call, "--steps", "2", "--json").json["fit"]["refused"] == ""
    assert len(letters.ASKED) == asked
    ok("train", "fusion", target, "-s", call, "--steps", "2", "--indexes", tmp_path / "own")
    assert len(letters.ASKED) == 2 * asked


def test_texts_that_are_cut_are_counted_on_the_command_line(model: str, tmp_path: Path) -> None:
    words = ("run", "demo:questions/answer", "-s", f"dense({model!r}, longest=9)", "--resamples", "20")
    told = ok(*words, "--indexes", tmp_path, "--json").json["results"][0]
    count = told["noticed"]["passages longer than the model reads"]
    assert count > 50
    assert told["noticed"]["queries longer than the model reads"] > 0
    assert f"{count} passages longer than the model reads" in " ".join(ok(*words, "--indexes", tmp_path).out.split())
    longest = (*words[:3], f"dense({model!r}, longest=100000)", *words[4:])
    assert "passages longer" not in json.dumps(ok(*longest, "--indexes", tmp_path, "--json").json)


@pytest.mark.parametrize("place", ["/dev/null/cache", "file"])
def test_a_cache_that_cannot_be_written_is_one_error(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("ASSAY_CACHE", place)
    words = ("run", "demo:questions/answer", "-s", f"dense({model!r})", "--resamples", "20")
    refused(*words, code=3, says=r"(Not a directory|File exists|Invalid argument)")


def test_a_model_that_is_not_there_says_how_to_get_it(
    hub: Hub, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.commit(files())
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "kept"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    words = ("run", "demo:questions/answer", "--resamples", "20", "-s")
    refused(*words, f"dense('{MODEL}')", code=4, says="is not in the cache as a commit.*Run once without")
    refused(*words, f"dense('{MODEL}', revision='{first}')", code=4, says="Commits there: none. Run once without")
    refused(*words, "dense('package:no_such_package')", code=4, says="install it with pip")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    weights_of(MODEL)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ok(*words, f"dense('{MODEL}', encoder='letters', revision='{first}')", "--json")
    other = "a" * 40
    refused(*words, f"dense('{MODEL}', revision='{other}')", code=4, says=f"Commits there: {first}")


def test_options_for_models_without_a_model(model: str) -> None:
    for option in (("--device", "cpu"), ("--workers", "2")):
        refused(
            "run", "demo:questions/answer", "-s", "bm25", *option, code=2, says=f"no model that would heed {option[0]}"
        )
    ended = assay("run", "demo:questions/answer", "-s", f"dense({model!r})", "--workers", "0")
    assert ended.code == 2


def test_an_experiment_runs_models_where_the_command_says(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "e.toml"
    file.write_text(
        f'name = "e"\ncollections = ["demo:questions"]\ntasks = ["answer"]\nresamples = 20\n\n[systems]\nd = "dense({model!r})"\n'
    )
    found = ok("run", file, "--device", "cpu:0", "--json").json
    assert found["results"][0]["models"][0]["device"] == "cpu:0"
    assert any((tmp_path / "cache" / "embeddings").iterdir())
