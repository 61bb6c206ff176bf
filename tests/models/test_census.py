"""A census says what is inside a file, and the published one is recomputed from its table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFReader

from entity_tui.engine.model_files import local_census, local_header, split_parts
from entity_tui.models.census import Census, census, group_bytes, group_coverage, kernel_coverage, merge_parts
from entity_tui.models.header import read_header
from entity_tui.models.kv import kv_bytes, kv_shape
from entity_tui.models.window import GgufError
from tests.fixtures.tools import need_shared
from tests.models.gguf_text import ARRAY, BOOL, STRING, U32, Gguf, llama_like, reader


def golden(name: str) -> Any:
    rows = json.loads(need_shared("seed_data", "entity", "golden.json").read_text())
    return next(row["recomputed"] for row in rows if row["id"] == name)


def counted(file: Gguf) -> Census:
    data = file.bytes()
    return census(read_header(reader(data), len(data)))


def published_groups() -> list[tuple[str, int]]:
    table = need_shared("seed_data", "entity", "quant_lab", "tensor_census_llama32_1b_q4_0.csv")
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    return [(row["type"], int(row["params"])) for row in csv.DictReader(lines)]


def test_the_published_census_of_llama_32_1b_is_recomputed() -> None:
    groups = published_groups()
    total = group_bytes(groups)
    assert total / 1e6 == pytest.approx(golden("census.total_mb"), abs=5e-4)
    assert total / 1e6 == pytest.approx(764.92, abs=0.005)
    assert group_coverage(groups).percent == golden("census.coverage_pct") == 76
    share = group_coverage(groups).share
    assert share is not None
    assert (1 - share) * 100 == pytest.approx(golden("census.ineligible_pct"), abs=5e-4)
    q4_0 = group_bytes([group for group in groups if group[0] == "Q4_0"])
    assert q4_0 / 1e6 == pytest.approx(golden("census.q4_0_mb"), abs=5e-4)
    assert group_bytes([g for g in groups if g[0] == "Q4_1"]) / 1e6 == pytest.approx(golden("census.q4_1_mb"), abs=5e-4)
    assert (773_025_920 - total) / 773_025_920 * 100 == pytest.approx(golden("census.gap_to_file_pct"), abs=5e-4)
    assert q4_0 / total == pytest.approx(0.69, abs=0.005), "the other definition: by bytes read per token"


def test_smollm2_adds_up_with_the_gguf_packages_own_reader(smollm2: Path, theirs: GGUFReader) -> None:
    ours = local_census(smollm2)
    assert ours.parameters == sum(int(t.n_elements) for t in theirs.tensors) == 134_515_008
    assert ours.data_bytes == sum(int(t.n_bytes) for t in theirs.tensors)
    assert {share.type: share.tensors for share in ours.types} == {"Q4_1": 210, "Q8_0": 1, "F32": 61}
    assert (ours.architecture, ours.trained_context, ours.layers, ours.vocabulary) == ("llama", 8192, 30, 49152)
    assert ours.tied
    assert ours.kv is not None
    assert ours.kv.bytes_per_token() == 23_040
    assert ours.chat_template is not None
    assert "<|im_start|>" in ours.chat_template
    assert ours.read_bytes < 3_000_000
    assert ours.file_type == ours.main_type == "Q4_1"


def test_a_tied_embedding_is_read_whole_for_every_token_and_an_untied_one_is_not() -> None:
    tied = counted(llama_like())
    untied_file = llama_like()
    untied_file.tensors.append(("output.weight", (64, 300), "F16"))
    untied = counted(untied_file)
    assert tied.tied
    assert not untied.tied
    embedding = 64 * 300 * 2
    assert tied.per_token_bytes == tied.data_bytes
    assert untied.per_token_bytes == pytest.approx(untied.data_bytes - embedding + embedding / 300)


def test_experts_that_are_not_routed_to_are_not_read() -> None:
    file = llama_like()
    file.keys += [("llama.expert_count", U32, 8), ("llama.expert_used_count", U32, 2)]
    dense = counted(file)
    file.tensors.append(("blk.0.ffn_up_exps.weight", (64, 128, 8), "Q4_0"))
    sparse = counted(file)
    expert_bytes = 64 * 128 * 8 * 18 / 32
    assert sparse.per_token_bytes - dense.per_token_bytes == pytest.approx(expert_bytes / 4)


def test_f16_counts_as_not_covered_and_f32_is_not_counted() -> None:
    coverage = group_coverage([("Q4_0", 100), ("F16", 100), ("F32", 10_000), ("F64", 10_000)])
    assert coverage.share == 0.5
    assert group_coverage([("F32", 5)]).share is None


def test_coverage_by_kernels_follows_the_bytes_a_token_reads() -> None:
    found = counted(llama_like())
    by_type = {share.type: share.per_token_bytes for share in found.types}
    coverage = kernel_coverage(found.types, frozenset({"Q4_0", "Q8_0"}))
    assert coverage.share == pytest.approx((by_type["Q4_0"] + by_type["Q8_0"]) / sum(by_type.values()))


def test_a_label_that_the_tensors_belie_is_said() -> None:
    file = llama_like()
    file.keys[2] = ("general.file_type", U32, 15)
    assert counted(file).file_type_note.startswith("labelled Q4_K_M, but")
    assert counted(Gguf([("general.file_type", U32, 15)], [("a", (256, 4), "Q4_K")])).file_type_note == ""
    assert counted(Gguf([("general.file_type", U32, 77)])).file_type == "unknown (77)"


def test_offenders_are_listed_largest_first() -> None:
    names = [tensor.name for tensor in counted(llama_like()).offenders]
    assert names == ["token_embd.weight", "blk.0.ffn_down.weight", "blk.1.ffn_down.weight"]


def test_kv_bytes_of_the_published_window() -> None:
    assert kv_bytes(16, 8, 64, 8192) / 1e6 == pytest.approx(golden("kv.ctx8192_mb"), abs=5e-4)


def shape_of(**keys: Any) -> Any:
    arch = keys.pop("arch", "llama")
    base: list[tuple[str, int, Any]] = [("general.architecture", STRING, arch)]
    for key, value in keys.items():
        name = f"{arch}.{key.replace('__', '.')}"
        if isinstance(value, list):
            base.append((name, ARRAY, (BOOL if isinstance(value[0], bool) else U32, value)))
        else:
            base.append((name, U32, value))
    data = Gguf(base).bytes()
    return kv_shape(read_header(reader(data), len(data)))


def test_kv_heads_may_differ_from_layer_to_layer() -> None:
    shape = shape_of(
        block_count=4, embedding_length=512, attention__head_count=8, attention__head_count_kv=[2, 0, 2, 0]
    )
    assert shape.bytes_per_token() == 2 * 2 * (64 + 64) * 2


def test_windowed_layers_stop_growing() -> None:
    shape = shape_of(
        arch="gemma3",
        block_count=6,
        embedding_length=640,
        attention__head_count=4,
        attention__head_count_kv=1,
        attention__key_length=256,
        attention__value_length=256,
        attention__sliding_window=512,
    )
    per_layer = 512 * 2
    assert shape.bytes_per_token() == 6 * per_layer
    assert shape.bytes_at(8192) == per_layer * 8192 + 5 * per_layer * 1024
    assert "5 of 6 layers" in shape.note


def test_a_window_that_the_architecture_does_not_use_is_said_and_not_counted() -> None:
    shape = shape_of(block_count=2, embedding_length=64, attention__head_count=2, attention__sliding_window=4096)
    assert shape.window_tokens is None
    assert "as if they saw everything" in shape.note


def test_a_header_without_heads_has_no_kv_shape() -> None:
    assert shape_of(block_count=2, embedding_length=64) is None
    assert shape_of(block_count=2**31, embedding_length=64, attention__head_count=1) is None


def split_model(folder: Path, *, count: int = 2) -> list[Path]:
    whole, paths = llama_like(), []
    for part in range(count):
        tensors = whole.tensors[part::count]
        keys = [*(whole.keys if part == 0 else []), ("split.no", U32, part), ("split.count", U32, count)]
        file = Gguf([*keys, ("split.tensors.count", U32, len(whole.tensors))], tensors)
        paths.append(folder / f"tiny-{part + 1:05d}-of-{count:05d}.gguf")
        paths[-1].write_bytes(file.bytes())
    return paths


def test_a_split_model_is_one_model(tmp_path: Path) -> None:
    paths = split_model(tmp_path)
    whole = counted(llama_like())
    merged = local_census(paths[1])
    assert (merged.parameters, merged.data_bytes, merged.tensor_count) == (
        whole.parameters,
        whole.data_bytes,
        whole.tensor_count,
    )
    assert merged.parts == 2
    assert merged.file_bytes == sum(path.stat().st_size for path in paths)


def test_missing_and_mixed_parts_are_refused(tmp_path: Path) -> None:
    paths = split_model(tmp_path)
    headers = [local_header(path) for path in paths]
    with pytest.raises(ValueError, match="part 1 says it is part 2"):
        merge_parts(reversed(headers))
    with pytest.raises(ValueError, match="speaks of 2 parts"):
        merge_parts(headers[:1])
    paths[1].unlink()
    with pytest.raises(GgufError, match="parts are missing"):
        split_parts(paths[0])
